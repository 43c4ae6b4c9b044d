/** The program that tries one row in its own process, so that no library disturbs another, and sends what it observed. */

import { ROWS } from './rows.ts'
import { tryRow } from './try-row.ts'

// Its warnings are about the made-up names of models.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const trial = ROWS[process.argv[2] ?? '']?.trial
if (trial === undefined || 'notRun' in trial) throw new TypeError(`${process.argv[2]} is not a row that is run`)
const tried = await tryRow(trial)
process.send?.(tried, () => process.exit())
