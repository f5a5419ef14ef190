// Calls every method that node-redis has for the four families and prints what
// each returns: node drive.mjs PORT 2|3
import { createClient, RESP_TYPES } from 'redis';

const [port, RESP] = process.argv.slice(2).map(Number);
const client = createClient({ RESP, socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
client.on('error', (error) => console.log(`connection: ${error.message}`));
await client.connect();
const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });

// show prints a reply; errors may stand inside of an array.
const show = (value) => JSON.stringify(value, (_, v) => (v instanceof Error ? `error: ${v.message}` : v));

async function call(label, promise, shown = (reply) => reply) {
	try {
		const reply = await promise;
		console.log(`${label}: ${show(shown(reply))}`);
		return reply;
	} catch (error) {
		console.log(`${label}: error: ${error.message}`);
	}
}

// length stands for bytes that are not the same in every data directory.
const length = ({ iterator, chunk }) => ({ iterator, bytes: chunk?.length ?? null });

const { bf, cf, cms, topK } = client;

await call('bf.reserve b', bf.reserve('b', 0.01, 1000));
await call('bf.reserve b', bf.reserve('b', 0.01, 1000));
await call('bf.reserve bad', bf.reserve('bad', 2, 1000));
await call('bf.reserve grows', bf.reserve('grows', 0.001, 100, { EXPANSION: 4 }));
await call('bf.reserve fixed', bf.reserve('fixed', 0.001, 2, { NONSCALING: true }));
await call('bf.reserve bad', bf.reserve('bad', 0.01, 100, { EXPANSION: 2, NONSCALING: true }));
await call('BF.RESERVE moves', client.sendCommand(['BF.RESERVE', 'moves', '0.01', '100', 'LAYOUT', 'redisbloom']));
await call('bf.add b one', bf.add('b', 'one'));
await call('bf.add b one', bf.add('b', 'one'));
await call('bf.mAdd b', bf.mAdd('b', ['one', 'two', 'three']));
await call('bf.mAdd fixed', bf.mAdd('fixed', ['one', 'two']));
await call('bf.add fixed three', bf.add('fixed', 'three'));
await call('bf.insert inserted', bf.insert('inserted', ['one', 'two'], { CAPACITY: 500, ERROR: 0.001, EXPANSION: 2 }));
await call('bf.insert absent', bf.insert('absent', 'one', { NOCREATE: true }));
await call('bf.exists b one', bf.exists('b', 'one'));
await call('bf.exists b four', bf.exists('b', 'four'));
await call('bf.exists absent one', bf.exists('absent', 'one'));
await call('bf.mExists b', bf.mExists('b', ['one', 'four', 'three']));
await call('bf.card b', bf.card('b'));
await call('bf.info moves', bf.info('moves'));
await call('bf.info fixed', bf.info('fixed'), ({ Size, ...rest }) => rest);
await call('bf.info absent', bf.info('absent'));
await call('BF.DEBUG moves', client.sendCommand(['BF.DEBUG', 'moves']));
await call('bf.mAdd moves', bf.mAdd('moves', ['one', 'two']));
{
	const header = await call('bf.scanDump moves 0', bytes.bf.scanDump('moves', 0));
	const body = await call('bf.scanDump moves 1', bytes.bf.scanDump('moves', header.iterator));
	await call('bf.scanDump moves end', bytes.bf.scanDump('moves', body.iterator));
	await call('bf.loadChunk moved', bf.loadChunk('moved', header.iterator, header.chunk));
	await call('bf.loadChunk moved', bf.loadChunk('moved', body.iterator, body.chunk));
	await call('bf.mExists moved', bf.mExists('moved', ['one', 'two', 'three']));
	await call('bf.loadChunk bad', bf.loadChunk('bad', 7, 'x'));
}
await call('bf.reserve d', bf.reserve('d', 0.01, 1000));
await call('bf.mAdd d', bf.mAdd('d', ['three', 'four']));
await call('BF.UNIONCARD b d', client.sendCommand(['BF.UNIONCARD', 'b', 'd']));
await call('BF.INTERCARD b d', client.sendCommand(['BF.INTERCARD', 'b', 'd']));
await call('BF.MERGE all b d', client.sendCommand(['BF.MERGE', 'all', 'b', 'd']));
await call('bf.mExists all', bf.mExists('all', ['one', 'two', 'three', 'four', 'five']));
await call('BF.CLEAR all', client.sendCommand(['BF.CLEAR', 'all']));
await call('bf.mExists all', bf.mExists('all', ['one', 'two', 'three', 'four', 'five']));
await call('BF.WINDOW today', client.sendCommand(['BF.WINDOW', 'today', '0.01', '1000', '24h']));
await call('bf.add today one', bf.add('today', 'one'));
await call('bf.add today one', bf.add('today', 'one'));
await call('type b', client.type('b'));

await call('cf.reserve c1', cf.reserve('c1', 1000));
await call('cf.reserve c1', cf.reserve('c1', 1000));
await call('cf.reserve bad', cf.reserve('bad', 1));
await call('cf.reserve c2', cf.reserve('c2', 500, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }));
await call('cf.add c1 one', cf.add('c1', 'one'));
await call('cf.add c1 one', cf.add('c1', 'one'));
await call('cf.addNX c1 one', cf.addNX('c1', 'one'));
await call('cf.addNX c1 two', cf.addNX('c1', 'two'));
await call('cf.insert c3', cf.insert('c3', ['one', 'one', 'two'], { CAPACITY: 100 }));
await call('cf.insertNX c3', cf.insertNX('c3', ['one', 'three']));
await call('cf.insert absent', cf.insert('absent', 'one', { NOCREATE: true }));
await call('cf.exists c1 one', cf.exists('c1', 'one'));
await call('cf.exists c1 three', cf.exists('c1', 'three'));
await call('CF.MEXISTS c1', client.sendCommand(['CF.MEXISTS', 'c1', 'one', 'two', 'three']));
await call('cf.count c1 one', cf.count('c1', 'one'));
await call('cf.count absent one', cf.count('absent', 'one'));
await call('cf.del c1 one', cf.del('c1', 'one'));
await call('cf.del c1 three', cf.del('c1', 'three'));
await call('cf.del absent one', cf.del('absent', 'one'));
await call('cf.info c1', cf.info('c1'));
await call('cf.info absent', cf.info('absent'));
await call('CF.DEBUG c2', client.sendCommand(['CF.DEBUG', 'c2']));
await call('CF.COMPACT c1', client.sendCommand(['CF.COMPACT', 'c1']));
{
	const header = await call('cf.scanDump c1 0', bytes.cf.scanDump('c1', 0), length);
	const body = await call('cf.scanDump c1 1', bytes.cf.scanDump('c1', header.iterator), length);
	await call('cf.scanDump c1 end', bytes.cf.scanDump('c1', body.iterator), length);
	await call('cf.loadChunk moved2', cf.loadChunk('moved2', header.iterator, header.chunk));
	await call('cf.loadChunk moved2', cf.loadChunk('moved2', body.iterator, body.chunk));
	await call('cf.exists moved2 one', cf.exists('moved2', 'one'));
	await call('cf.loadChunk bad', cf.loadChunk('bad', 1, 'x'));
}
await call('type c1', client.type('c1'));

await call('cms.initByDim m1', cms.initByDim('m1', 2000, 5));
await call('cms.initByDim m1', cms.initByDim('m1', 2000, 5));
await call('cms.initByDim m2', cms.initByDim('m2', 2000, 5));
await call('cms.initByProb p', cms.initByProb('p', 0.001, 0.01));
await call('cms.initByProb bad', cms.initByProb('bad', 0, 0.01));
await call('cms.incrBy m1', cms.incrBy('m1', [{ item: 'one', incrementBy: 5 }, { item: 'two', incrementBy: 7 }]));
await call('cms.incrBy m1', cms.incrBy('m1', { item: 'one', incrementBy: -1 }));
await call('cms.incrBy absent', cms.incrBy('absent', { item: 'one', incrementBy: 1 }));
await call('cms.query m1', cms.query('m1', ['one', 'two', 'three']));
await call('cms.incrBy m2', cms.incrBy('m2', { item: 'one', incrementBy: 100 }));
await call('cms.merge m2', cms.merge('m2', ['m1', 'm2']));
await call('cms.merge m2', cms.merge('m2', [{ name: 'm1', weight: 3 }, { name: 'm2', weight: 1 }]));
await call('cms.query m2', cms.query('m2', ['one', 'two', 'three']));
await call('cms.info m1', cms.info('m1'));
await call('cms.info absent', cms.info('absent'));
await call('type m1', client.type('m1'));

await call('topK.reserve t1', topK.reserve('t1', 3));
await call('topK.reserve t1', topK.reserve('t1', 3));
await call('topK.reserve t2', topK.reserve('t2', 2, { width: 2000, depth: 7, decay: 0.925 }));
await call('topK.reserve bad', topK.reserve('bad', 2, { width: 2000, depth: 7, decay: 2 }));
await call('topK.add t1', topK.add('t1', ['one', 'two', 'one']));
await call('topK.incrBy t1', topK.incrBy('t1', [{ item: 'one', incrementBy: 10 }, { item: 'two', incrementBy: 20 }, { item: 'three', incrementBy: 5 }]));
await call('topK.incrBy t1', topK.incrBy('t1', { item: 'four', incrementBy: 1000 }));
await call('TOPK.INCRBY t1', client.sendCommand(['TOPK.INCRBY', 't1', 'four', '-5', 'one', '1']));
await call('topK.add absent', topK.add('absent', 'one'));
await call('topK.query t1', topK.query('t1', ['one', 'two', 'five']));
await call('topK.count t1', topK.count('t1', ['one', 'two', 'five']));
await call('topK.list t1', topK.list('t1'));
await call('topK.listWithCount t1', topK.listWithCount('t1'));
await call('topK.info t1', topK.info('t1'));
await call('topK.info absent', topK.info('absent'));
await call('type t1', client.type('t1'));

client.destroy();
