/** What one tool call takes: the functions of core that are entered only because of it. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface EnteredFunction {
  /** From the folder of core's sources on. */
  readonly file: string
  /** With its place, for two may have one name. */
  readonly name: string
}

const PROGRAM = fileURLToPath(new URL('./entered-process.ts', import.meta.url))

/** In a process of its own, in which Node itself strips the types: what else loads TypeScript moves and renames functions. */
export async function enteredBecauseOfACall(): Promise<readonly EnteredFunction[]> {
  const child = fork(PROGRAM, {
    execArgv: ['--conditions=@meanwhile/source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const message = once(child, 'message').then(([functions]) => functions as readonly EnteredFunction[])
  const end = once(child, 'close').then(([code]) => {
    throw new Error(`the process that makes a tool call ended with ${code}`)
  })
  const functions = await Promise.race([message, end])
  if (functions.length === 0) throw new Error('a tool call was made, and no function of core was seen to be entered')
  return functions
}
