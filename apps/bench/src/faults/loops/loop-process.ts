/** The program that tries one loop in its own process, so that no library disturbs another, and sends the outcome. */

import { messageOf } from '@meanwhile/core'
import { cellOfLoop, isLoop } from './loops.ts'

// Its warnings are about the failed attempts.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const title = process.argv[2] ?? ''
if (!isLoop(title)) throw new TypeError(`${title} is not a loop`)
const tried = await cellOfLoop(title).then(
  (cell) => ({ title, cell }),
  (error: unknown) => ({ title, problem: messageOf(error) }),
)
process.send?.(tried, () => process.exit())
