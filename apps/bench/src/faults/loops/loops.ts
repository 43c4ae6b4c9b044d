/** The loops of other libraries that the fault matrix knows. */

import type { WireName } from '@meanwhile/harness/server'
import { cutsOf } from './cuts.ts'
import { librechatLoop } from './librechat.ts'
import type { FaultLoop } from './loop.ts'
import { type LoopCell, loopCell } from './loop-cells.ts'
import { streamTextLoop } from './stream-text.ts'

export type LoopTitle = keyof typeof LOOPS

/** As it is, then with what is added to it. */
const LOOPS = {
  streamText: async () => streamTextLoop({}),
  'streamText, streamRetries': async () => streamTextLoop({ streamRetries: 2 }),
  'streamText, eager()': async () => streamTextLoop({ eager: true }),
  'streamText, resilient()': async () => streamTextLoop({ resilient: true }),
  'streamText, eager(), resilient()': async () => streamTextLoop({ eager: true, resilient: true }),
  'LibreChat’s agents': async () => librechatLoop(await libreChat(), { fallback: false }),
  'LibreChat’s agents, fallback': async () => librechatLoop(await libreChat(), { fallback: true }),
} as const satisfies Readonly<Record<string, () => Promise<FaultLoop>>>

export const LOOP_TITLES = Object.keys(LOOPS).filter(isLoop)

export function isLoop(title: string): title is LoopTitle {
  return Object.hasOwn(LOOPS, title)
}

export interface LoopPlan {
  /** Default: all. */
  readonly wires?: readonly WireName[]
  /** Every how many events the response is cut. Default 1. */
  readonly step?: number
}

export async function cellOfLoop(title: LoopTitle, { wires, step }: LoopPlan = {}): Promise<LoopCell> {
  return await loopCell(await LOOPS[title](), await cutsOf(wires, step))
}

async function libreChat() {
  const { load } = await import('../../../proved/librechat/load.ts')
  await load('@librechat/agents').catch((cause: unknown) => {
    if (Object(cause).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error('install it with `node scripts/install-tools.ts apps/bench/proved/librechat`', { cause })
  })
  return load
}
