package store

import (
	"errors"
	"fmt"
)

// checkDatabase checks the catalogue and the log, and notes what is wrong as problems. It
// returns an error only if the context has ended.
func (v *verifier) checkDatabase() error {
	fsys := readOnly{FS: v.fs}
	if v.list != nil {
		fsys.only = map[string]bool{}
		for _, e := range v.list.entries {
			fsys.only[v.fs.PathJoin(v.dir, e.name)] = true
		}
	}
	var o Options
	o.complete()
	db, err := openDatabase(fsys, v.fs.PathJoin(v.dir, dbName), &o.Events, func(*database, error) {})
	if err != nil {
		v.problem("", dbName, err)
		return nil
	}
	err = db.guarded(func() error { return v.readDatabase(db) })
	if err := v.ctx.Err(); err != nil {
		return errors.Join(err, db.close())
	}
	if err := errors.Join(err, db.close()); err != nil {
		v.problem("", dbName, err)
	}
	return nil
}

func (v *verifier) readDatabase(db *database) error {
	st, err := db.readState()
	if err != nil {
		return err
	}
	if id := v.hash.KeyID(); st.keyID != id && !v.reported(secretName) {
		v.problem("", secretName, fmt.Errorf("it is not the secret that the filters were made with (key ids %016x and %016x)", id, st.keyID))
	}
	if err := db.each(prefixCatalogue, func(id uint64, b []byte) error {
		im, err := parseCatalogued(id, b)
		if err != nil {
			v.problem("", dbName, fmt.Errorf("the image of value %d: %w", id, err))
			return v.ctx.Err()
		}
		one := &verified{kind: im.kind, name: im.name, at: im.at}
		v.values[id] = one
		v.refer(one, im, st.keyID, false)
		return v.ctx.Err()
	}); err != nil {
		return err
	}
	last, err := v.readLog(db, st)
	if err != nil {
		return err
	}
	v.checkNames()
	if !v.Backup {
		if err := checkMark(v.fs, v.dir, last); err != nil {
			v.problem("", dbName, err)
		}
	}
	// All entries are read, which verifies the checksums of all blocks that are in use.
	return db.scan(nil, nil, func(_, _ []byte) error { return nil })
}

// refer notes the files that an image of a value refers to, and checks the rest of it. The
// image is spare if it is in the log and the catalogue has a newer one.
func (v *verifier) refer(one *verified, im *image, keyID uint64, spare bool) {
	var layers []layerConfig
	err := im.kind.check()
	switch {
	case err != nil:
	case im.kind == kindBloom:
		var m *bloomMeta
		if m, err = parseBloomMeta(im.meta); err == nil {
			if layers = m.layers; len(layers) != len(im.parts) {
				err = fmt.Errorf("%d arrays for %d layers", len(im.parts), len(layers))
			}
		}
	case len(im.parts) != 1:
		err = fmt.Errorf("%d arrays for a value that has one", len(im.parts))
	}
	if err != nil {
		v.problem(im.name, dbName, fmt.Errorf("its image: %w", err))
		return
	}
	for i, p := range im.parts {
		ref := reference{fileRef: p.file, spare: spare}
		if im.kind == kindBloom {
			ref.want = layers[i].header(keyID)
			if n := layers[i].params.Bytes(); p.state == partInline && uint64(len(p.inline)) != n {
				v.problem(im.name, dbName, fmt.Errorf("its image has %d bytes for an array of %d", len(p.inline), n))
			}
		}
		if p.state == partFile {
			one.refs = append(one.refs, ref)
		}
	}
}

// readLog checks the operations of the log, and follows which values there are and what
// their names are. It returns the number of the last.
func (v *verifier) readLog(db *database, st state) (LSN, error) {
	last, broken := st.trimmed, false
	orphans := map[uint64]LSN{}
	err := db.each(prefixLog, func(first uint64, ops []byte) error {
		if LSN(first) != last+1 && !broken {
			broken = true
			v.problem("", dbName, fmt.Errorf("the log goes on with operation %d after %d: a part of it is missing", first, last))
		}
		last = LSN(first) - 1
		for len(ops) > 0 {
			op, rest, err := nextOp(ops)
			if err == nil {
				err = v.checkOp(op, last+1, st.keyID, orphans)
			}
			last++
			v.Operations++
			if err != nil {
				v.problem("", dbName, fmt.Errorf("operation %d of the log: %w", last, err))
			}
			if rest == nil {
				break // what follows in this record has no beginning
			}
			ops = rest
		}
		return v.ctx.Err()
	})
	for id, at := range orphans {
		v.problem("", dbName, fmt.Errorf("operation %d of the log changes value %d, which does not exist", at, id))
	}
	return last, err
}

func (v *verifier) checkOp(op operation, at LSN, keyID uint64, orphans map[uint64]LSN) error {
	if op.code == opFlush {
		for id := range v.values {
			v.bury(id, at)
		}
		clear(orphans)
		return nil
	}
	one := v.values[op.id]
	if op.code == opCreate {
		im, err := parseImage(op.body)
		spare := one != nil
		switch {
		case err != nil:
			return err
		case spare && one.at < at:
			return fmt.Errorf("it creates value %d, which exists", op.id)
		case !spare:
			one = &verified{kind: im.kind, name: im.name, at: at}
			v.values[op.id] = one
		}
		v.refer(one, im, keyID, spare)
		return nil
	}
	if one == nil {
		// A change of a value that is deleted later in the log.
		if orphans[op.id] = at; op.code == opDelete {
			delete(orphans, op.id)
		}
		return nil
	}
	switch op.code {
	case opDelete:
		v.bury(op.id, at)
	case opRename:
		if at > one.at {
			one.name = string(op.body)
		}
	case opReplace:
		im, err := parseImage(op.body)
		if err != nil {
			return err
		}
		v.refer(one, im, keyID, at <= one.at)
	default:
		return checkChange(one.kind, op)
	}
	return nil
}

// bury notes that a value was deleted; its files stay until the log is dropped.
func (v *verifier) bury(id uint64, at LSN) {
	if one := v.values[id]; one.at < at {
		v.gone = append(v.gone, one)
		delete(v.values, id)
	}
}

// checkChange checks the form of a change of the contents of a value.
func checkChange(k kind, op operation) error {
	r := reader{b: op.body}
	switch op.code {
	case opExpire:
		r.varint()
		return r.end()
	case opAdd:
		unit := 8
		if k == kindRedisBloom {
			unit = 16
		} else {
			r.uvarint() // the layer
		}
		if r.err == nil && len(r.b)%unit != 0 {
			return fmt.Errorf("%d bytes of hashes of %d", len(r.b), unit)
		}
		return r.err
	case opGrow:
		r.layerConfig()
		return r.end()
	case opClear:
		for r.err == nil && len(r.b) > 0 {
			r.layerConfig()
		}
		return r.err
	case opLoad, opChange:
		if len(op.body) == 0 {
			return errors.New("it is empty")
		}
		return nil
	}
	return fmt.Errorf("operation code %d, which this program does not know; use a newer one", op.code)
}

func (v *verifier) checkNames() {
	names := map[string]int{}
	for _, one := range v.values {
		if names[one.name]++; names[one.name] == 2 {
			v.problem(one.name, dbName, errors.New("two values have the name"))
		}
	}
}
