/** The path from an agent to the tool, hook or wrap that asks a question in one of its runs. */

import type { MiddlewareHook } from '../machine/call.ts'
import { canonical } from '../vocabulary/canonical.ts'
import type { Address, AddressPart } from '../vocabulary/interrupt.ts'
import type { CallEntry } from './call-entry.ts'

/** A run, as far as addresses in it need it. */
interface NamedRun {
  readonly config: { readonly name: string | undefined }
}

/** Of a call, or of the middleware round it; without either, of the agent's own. */
export function addressOf(run: NamedRun, call: CallEntry | undefined, place?: MiddlewareHook): Address {
  const agent: AddressPart = { agent: run.config.name ?? null }
  return [agent, ...(call ? callPath(call) : []), ...(place ? [place] : [])]
}

/** Whether an address is `whole`, or leads to something inside it. */
export function isInside(address: Address, whole: Address): boolean {
  return whole.every((part, index) => canonical(part) === canonical(address[index]))
}

/** Whether the asker is in the run of an agent that a call makes. */
export function isNested(address: Address): boolean {
  return address.slice(1).some((part) => 'agent' in part)
}

/** Whether it is a middleware that asks, and which: by the rest of its address behind its call or agent. */
export function askerOf([part]: Address): { readonly by?: MiddlewareHook } {
  return part && 'middleware' in part ? { by: part } : {}
}

function callPath({ id, call, maker }: CallEntry): AddressPart[] {
  return [...(maker ? callPath(maker) : []), { tool: call.name, callId: id }]
}
