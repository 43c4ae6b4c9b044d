/** The path from an agent to who asks in one of its runs (L4). */

import type { CallEntry } from './call-entry.ts'
import { canonical } from './canonical.ts'
import type { Address, AddressPart } from './interrupt.ts'
import type { RunState } from './run.ts'

/** A middleware at work: its name, and which of its hooks or wraps. */
export interface Place {
  readonly middleware: string
  readonly hook: string
}

/** Of a call, or of the middleware round it; without either, of the agent's own. */
export function addressOf(run: RunState, call: CallEntry | undefined, place?: Place): Address {
  const agent: AddressPart = { agent: run.config.name ?? null }
  return [agent, ...(call ? callPath(call) : []), ...(place ? [place] : [])]
}

/** Whether an address is `whole`, or leads to something inside it. */
export function isInside(address: Address, whole: Address): boolean {
  return whole.every((part, index) => canonical(part) === canonical(address[index]))
}

function callPath({ id, call, maker }: CallEntry): AddressPart[] {
  return [...(maker ? callPath(maker) : []), { tool: call.name, callId: id }]
}
