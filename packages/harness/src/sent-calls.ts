/** The calls that an endpoint has sent: they must come back with the ids that it gave them. */

import type { ScriptResponse } from '@meanwhile/core/testing'
import type { Asked } from './asked.ts'
import type { Failing } from './fault.ts'
import { NOT_AS_SENT } from './refusing.ts'
import { callIdOf } from './rules/answers.ts'
import type { Host } from './rules/hosts.ts'
import type { Refusal } from './rules/refusals.ts'
import { isText, list, type Members, members } from './rules/values.ts'
import type { WireName } from './wires/wire.ts'

interface Call {
  readonly id: unknown
  readonly name: unknown
  /** The arguments as JSON, written the same way whatever the wire. */
  readonly input: string
}

/** What one endpoint remembers. */
export interface SentCalls {
  note(asked: Asked, reply: ScriptResponse & Failing): void
  /** The call of an earlier answer that comes back with another id, although the rest of the answer is the same. */
  changed(asked: Asked): readonly Refusal[]
}

/** The most ends of requests whose answers are kept. */
const MOST = 1_000

/** The answers to the same end of a request that are kept. If there are so many, there may have been others, so that their ids are not checked. */
const MOST_ALIKE = 100

export function sentCalls(): SentCalls {
  /** By what the request ended with, and where. */
  const answers = new Map<string, Call[][]>()
  /** How many of these calls have each id. */
  const given = new Map<unknown, number>()

  function forget(alike: readonly Call[][]): void {
    for (const { id } of alike.flat()) {
      const left = (given.get(id) ?? 0) - 1
      if (left > 0) given.set(id, left)
      else given.delete(id)
    }
  }

  return {
    note(asked, reply) {
      const entries = entriesOf(asked)
      const calls = callsIn(reply, asked)
      if (calls.length === 0 || entries.length === 0) return
      const key = keyOf(asked.wire.name, entries, entries.length)
      const alike = answers.get(key) ?? []
      if (alike.length >= MOST_ALIKE) return
      for (const { id } of calls) given.set(id, (given.get(id) ?? 0) + 1)
      alike.push(calls)
      answers.set(key, alike)
      for (const [oldest, alike] of answers) {
        if (answers.size <= MOST) break
        answers.delete(oldest)
        forget(alike)
      }
    },
    changed(asked) {
      if (answers.size === 0) return []
      const { name } = asked.wire
      const entries = entriesOf(asked)
      const ids = new Set(entries.flatMap((_, i) => callsAt(name, entries, i).map(({ id }) => id)))
      for (let i = 1; i < entries.length; i++) {
        const calls = callsAt(name, entries, i)
        if (calls.length === 0) continue
        const alike = answers.get(keyOf(name, entries, i)) ?? []
        if (alike.length >= MOST_ALIKE) continue
        const sent = alike.filter((answer) => isSame(answer, calls))
        if (sent.length === 0 || sent.some((answer) => answer.every(({ id }, k) => id === calls[k]?.id))) continue
        const [answer = []] = sent
        const k = answer.findIndex(({ id }, place) => id !== calls[place]?.id)
        const own = answer[k]?.id
        // An id that came twice, that the history has already, or that the host would refuse has to change.
        if (ids.has(own) || (given.get(own) ?? 0) > 1 || !isTaken(own, name, asked.host)) continue
        return [refusalOf(`${listOf(name)}[${i}]`, own, calls[k]?.id)]
      }
      return []
    },
  }
}

function refusalOf(path: string, own: unknown, id: unknown): Refusal {
  const message = `the call had the id '${String(own)}' when it was sent, and has '${String(id)}' now`
  return { rule: NOT_AS_SENT, path, message, source: 'what this endpoint sent; Kimi needs its own ids', status: 400 }
}

function callsIn({ steps, fault }: ScriptResponse & Failing, { request, host }: Asked): Call[] {
  if (fault || steps.some(({ type }) => type === 'fail' || type === 'cut')) return []
  const calls = steps.filter((step) => step.type === 'call')
  return calls.map(({ id, name, deltas }, i) => ({
    id: id ?? callIdOf(host, request.wire, { request: request.number, place: i + 1, name }),
    name,
    input: normal(deltas.join('')),
  }))
}

function listOf(wire: WireName): 'input' | 'messages' {
  return wire === 'openai-responses' ? 'input' : 'messages'
}

function entriesOf({ wire, request }: Asked): readonly unknown[] {
  return list(members(request.body)[listOf(wire.name)])
}

function keyOf(wire: WireName, entries: readonly unknown[], count: number): string {
  return `${wire} ${count} ${normal(entries[count - 1])}`
}

/** The calls of the answer that begins at this entry. */
function callsAt(wire: WireName, entries: readonly unknown[], index: number): readonly Call[] {
  const entry = members(entries[index])
  if (wire === 'openai-chat')
    return list(entry.tool_calls).map((one) => {
      const { name, arguments: input } = members(members(one).function)
      return { id: members(one).id, name, input: normal(input) }
    })
  if (wire === 'anthropic')
    return list(entry.content).flatMap((one) => {
      const { type, id, name, input } = members(one)
      return type === 'tool_use' ? [{ id, name, input: normal(input) }] : []
    })
  return isOutput(members(entries[index - 1])) ? [] : outputCalls(entries, index)
}

/** On Responses an answer is several items, up to the next input. */
function outputCalls(entries: readonly unknown[], from: number): Call[] {
  const calls: Call[] = []
  for (const entry of entries.slice(from)) {
    const { type, call_id: id, name, arguments: input, ...item } = members(entry)
    if (!isOutput({ type, ...item })) break
    if (type === 'function_call') calls.push({ id, name, input: normal(input) })
  }
  return calls
}

function isOutput({ type, role }: Members): boolean {
  return type === 'reasoning' || type === 'function_call' || role === 'assistant'
}

function isSame(sent: readonly Call[], calls: readonly Call[]): boolean {
  const same = ({ name, input }: Call, k: number): boolean => name === calls[k]?.name && input === calls[k]?.input
  return sent.length === calls.length && sent.every(same)
}

/** Whether a host accepts this id in a history. */
function isTaken(id: unknown, wire: WireName, host: Host): boolean {
  if (!isText(id)) return false
  if (host === 'mistral') return /^[a-zA-Z0-9]{9}$/.test(id)
  return wire === 'openai-chat' ? id.length > 0 && id.length <= 64 : /^[a-zA-Z0-9_-]{1,64}$/.test(id)
}

/** JSON without the spaces that its writer chose; what is not JSON stays as it is. */
function normal(value: unknown): string {
  try {
    return JSON.stringify(isText(value) ? JSON.parse(value) : value) ?? ''
  } catch {
    return isText(value) ? value : ''
  }
}
