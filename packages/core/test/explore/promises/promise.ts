/** A promise is a sentence, with a function that returns what is wrong if it is broken. */

import type { World } from '../world.ts'

export type Promises = Readonly<Record<string, (world: World) => string | undefined>>
