/** Builds the path from an agent to the tool, hook or wrap that asks a question in one of its runs. */

import type { MiddlewareHook } from '../machine/call.ts'
import { canonical } from '../vocabulary/canonical.ts'
import type { Address, AddressPart } from '../vocabulary/interrupt.ts'
import type { CallEntry } from './call-entry.ts'

/** The part of a run that its addresses need. */
interface NamedRun {
  readonly config: { readonly name: string | undefined }
}

/** The address of a call, or of a middleware around it. Without either, the address of the agent itself. */
export function addressOf(run: NamedRun, call: CallEntry | undefined, place?: MiddlewareHook): Address {
  const agent: AddressPart = { agent: run.config.name ?? null }
  const calls = call ? [...call.makers, call] : []
  return [agent, ...calls.map(({ id, madeAs }) => ({ tool: madeAs, callId: id })), ...(place ? [place] : [])]
}

/** Whether an address equals `whole`, or leads to something inside it. */
export function isInside(address: Address, whole: Address): boolean {
  return whole.every((part, index) => canonical(part) === canonical(address[index]))
}

/** Whether the tool or middleware that asks is in the run of an agent inside a call. */
export function isNested(address: Address): boolean {
  return address.slice(1).some((part) => 'agent' in part)
}

/** Returns the middleware that asks, if one does. The parameter is the part of an address after its call or agent. */
export function askerOf([part]: Address): { readonly by?: MiddlewareHook } {
  return part && 'middleware' in part ? { by: part } : {}
}
