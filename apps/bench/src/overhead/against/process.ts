/** A process that does one kind of work with one core, as much as requested, and reports the CPU time. */

import { pathToFileURL } from 'node:url'
import { cpuOf } from '../cpu.ts'
import { type Core, WORKS, type WorkName } from './works.ts'

export interface Request {
  /** How many runs, calls or steps; 0: only loads the core. */
  readonly size: number
}

/** Microseconds of CPU, or why there are none. */
export type Answer = { readonly cpuUs: number } | { readonly problem: string }

const [, , index = '', name] = process.argv
const work = WORKS[name as WorkName]
let loading: Promise<Core> | undefined

process.on('message', (request: Request) => {
  void answer(request).then((said) => process.send?.(said))
})

async function answer({ size }: Request): Promise<Answer> {
  try {
    const core = await (loading ??= import(pathToFileURL(index).href) as Promise<Core>)
    return { cpuUs: size === 0 ? 0 : await cpuOf(() => work.make(core, size)) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
