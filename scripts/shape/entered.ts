/** Finds the functions of core that are entered only because of a tool call. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface EnteredFunction {
  /** Relative to the folder of core's sources. */
  readonly file: string
  /** With its position, because two may have the same name. */
  readonly name: string
}

const PROGRAM = fileURLToPath(new URL('./entered-process.ts', import.meta.url))

/** In a separate process, in which Node itself strips the types: other TypeScript loaders move and rename functions. */
export async function enteredBecauseOfACall(): Promise<readonly EnteredFunction[]> {
  const child = fork(PROGRAM, {
    execArgv: ['--conditions=@meanwhile/source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const message = once(child, 'message').then(([functions]) => functions as readonly EnteredFunction[])
  const end = once(child, 'close').then(([code]) => {
    throw new Error(`the process of the tool call ended with ${code}`)
  })
  const functions = await Promise.race([message, end])
  if (functions.length === 0) throw new Error('a tool was called, but no function of core was entered')
  return functions
}
