/** Which call of a Chat Completions stream a piece belongs to. */

import type { Label } from '@meanwhile/core'

/** What is read of a piece of a call. */
export interface CallDelta {
  readonly index?: number | null
  readonly id?: string | null
  /** `function`, if any; `custom` is a call of another kind, whose members stand in another place (qC45). */
  readonly type?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null } | null
  /** Opaque, and wanted back: Gemini's thought signatures (qC38). */
  readonly extra_content?: unknown
}

interface Call {
  readonly label: number
  id: string | undefined
  name: string | undefined
  /** Whether any of its arguments have come. */
  told: boolean
}

/**
 * The call with the piece's index (qC1, qC5), or where there is none with its id (qC2), or else the latest one (qC3). A piece with
 * a name begins a call if its index is in use under another id, or without ids under another name with arguments (qC44), or if it
 * has neither index nor id. Empty ids and names say nothing (qC8), a repeated id or name nothing new (qC6, qC9).
 */
export function callLabels(): (piece: CallDelta) => Label {
  const known = new Map<number | string, Call>()
  let latest: Call | undefined
  let count = 0

  function find(index: number | undefined, id: string | undefined, name: string | undefined): Call | undefined {
    if (index === undefined && id === undefined) return name === undefined ? latest : undefined
    const call = known.get(index ?? id ?? '')
    return call && name !== undefined && isAnother(call, id, name) ? undefined : call
  }

  return (piece) => {
    const index = piece.index ?? undefined
    const id = piece.id || undefined
    const name = piece.function?.name || undefined
    let call = find(index, id, name)
    if (!call) {
      call = { label: count++, id, name, told: false }
      if (index !== undefined) known.set(index, call)
      if (id !== undefined) known.set(id, call)
    }
    call.id ??= id
    call.name ??= name
    call.told ||= !!piece.function?.arguments
    latest = call
    return call.label
  }
}

function isAnother(call: Call, id: string | undefined, name: string): boolean {
  if (call.id !== undefined && id !== undefined) return id !== call.id
  return call.told && call.id === id && call.name !== undefined && call.name !== name
}
