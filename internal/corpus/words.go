package corpus

import "strings"

// vocabulary holds 256 English words of small letters. Changing it changes every
// corpus.
var vocabulary = strings.Fields(`
able amber anchor apple april arch arrow ash autumn bank barn basin bay
beach beacon bear bell bench birch bird blue board boat bold bolt bone book
border bottle box branch brass bread breeze brick bridge bright brook brown
brush cabin cable calm candle canyon cape card castle cedar chain chalk
cherry circle city clay clear cliff clock cloud clover coast coin cold
copper coral corner cotton craft crane creek crown crystal dale dawn deep
deer delta desert dew dock door dove draft dragon dream drift drum dusk dust
eagle early earth east echo edge elm ember engine evening falcon farm
feather fern ferry field fire fish flag flame flint flower fog forest forge
fox frame free fresh frost garden gate gentle glass globe gold grain grand
granite grass gravel green grove gull hall harbor harvest hawk hazel heart
heath heron hill hollow home honey horizon horn house ice indigo inland iron
island ivory ivy jade jasper juniper keen key kite lake lamp land lane
lantern lark laurel leaf lemon light lily lime linden linen lion lodge lotus
lunar maple marble market marsh meadow mellow mill mint mirror mist moon
moss mountain night noble north oak oasis ocean olive onyx opal orange
orchard otter owl paper path pearl pebble pepper pilot pine plain plum pond
poplar port prairie quartz quiet rain raven red reed ridge river road robin
rocky root rose ruby rustic sable saffron sage sail salt sand sea shadow
shell shore silk silver sky slate snow solar song south spark spring spruce
star stone
`)
