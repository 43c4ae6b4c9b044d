/** The calls that an endpoint has sent: they must come back with the ids that it gave them. */

import { hash } from 'node:crypto'
import type { ScriptResponse } from '@meanwhile/assemble/testing'
import type { Asked } from './asked.ts'
import type { Failing } from './fault.ts'
import { NOT_AS_SENT } from './refusing.ts'
import { callIdOf } from './rules/answers.ts'
import type { Host } from './rules/hosts.ts'
import type { Refusal } from './rules/refusals.ts'
import { isText, list, type Members, members } from './rules/values.ts'
import type { WireName } from './wires/wire-name.ts'

interface Call {
  readonly id: unknown
  /** The hash of its name and its arguments, whatever the wire. */
  readonly content: string
}

/**
 * What one endpoint remembers: the calls of its latest answers, at most 1,000 calls, each as its id and a hash. So it
 * needs less than a megabyte, however large the requests and the arguments are.
 */
export interface SentCalls {
  /** To be called when the answer is ready. */
  note(asked: Asked, reply: ScriptResponse & Failing): void
  /** The call of an earlier answer that comes back with another id, although the rest of the answer is the same. */
  changed(asked: Asked): readonly Refusal[]
}

/** The most calls that are kept. */
const MOST = 1_000

/** No host accepts a longer id. */
const LONGEST_ID = 64

/**
 * The most answers that are kept for requests with the same end. Once there are as many, further ones are not noted, so
 * the ids of all of them are no longer checked.
 */
const MOST_ALIKE = 100

export function sentCalls(): SentCalls {
  /** By what the request ended with, and where; the oldest first. */
  const answers = new Map<string, Call[][]>()
  /** How many of these calls have each id. */
  const given = new Map<unknown, number>()
  let kept = 0

  function forget(alike: readonly Call[][]): void {
    for (const { id } of alike.flat()) {
      const left = (given.get(id) ?? 0) - 1
      if (left > 0) given.set(id, left)
      else given.delete(id)
      kept--
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
      kept += calls.length
      alike.push(calls)
      // Again the newest.
      answers.delete(key)
      answers.set(key, alike)
      for (const [oldest, forgotten] of answers) {
        if (kept <= MOST) break
        answers.delete(oldest)
        forget(forgotten)
      }
    },
    changed(asked) {
      if (answers.size === 0) return []
      const { name } = asked.wire
      const entries = entriesOf(asked)
      const callsBy = entries.map((_, i) => callsAt(name, entries, i))
      const ids = new Set(callsBy.flat().map(({ id }) => id))
      for (let i = 1; i < entries.length; i++) {
        const calls = callsBy[i] ?? []
        if (calls.length === 0) continue
        const alike = answers.get(keyOf(name, entries, i)) ?? []
        if (alike.length >= MOST_ALIKE) continue
        const sent = alike.filter((answer) => isSame(answer, calls))
        if (sent.length === 0 || sent.some((answer) => answer.every(({ id }, k) => id === calls[k]?.id))) continue
        const [answer = []] = sent
        const k = answer.findIndex(({ id }, place) => id !== calls[place]?.id)
        const own = answer[k]?.id
        // An id that came twice, that the history has already, or that the host would refuse has to change.
        if (!isTaken(own, name, asked.host) || ids.has(own) || (given.get(own) ?? 0) > 1) continue
        return [refusalOf(`${listOf(name)}[${i}]`, own, calls[k]?.id)]
      }
      return []
    },
  }
}

function refusalOf(path: string, own: string, id: unknown): Refusal {
  const now = isText(id) ? `'${id}'` : 'none'
  const message = `the call had the id '${own}' when it was sent, and has ${now} now`
  return { rule: NOT_AS_SENT, path, message, source: 'what this endpoint sent; Kimi needs its own ids', status: 400 }
}

function callsIn({ steps, fault }: ScriptResponse & Failing, { request, host }: Asked): Call[] {
  if (fault || steps.some(({ type }) => type === 'fail' || type === 'cut')) return []
  const calls = steps.filter((step) => step.type === 'call')
  return calls.map(({ id, name, deltas }, i) => ({
    id: short(id ?? callIdOf(host, request.wire, { request: request.number, place: i + 1, name })),
    content: contentOf(name, deltas.join('')),
  }))
}

function listOf(wire: WireName): 'input' | 'messages' {
  return wire === 'openai-responses' ? 'input' : 'messages'
}

function entriesOf({ wire, request }: Asked): readonly unknown[] {
  return list(members(request.body)[listOf(wire.name)])
}

function keyOf(wire: WireName, entries: readonly unknown[], count: number): string {
  return hashOf(`${wire} ${count} ${normal(entries[count - 1])}`)
}

/** The calls of the answer that begins at this entry. */
function callsAt(wire: WireName, entries: readonly unknown[], index: number): readonly Call[] {
  const entry = members(entries[index])
  if (wire === 'openai-chat')
    return list(entry.tool_calls).map((one) => {
      const { name, arguments: input } = members(members(one).function)
      return { id: members(one).id, content: contentOf(name, input) }
    })
  if (wire === 'anthropic')
    return list(entry.content).flatMap((one) => {
      const { type, id, name, input } = members(one)
      return type === 'tool_use' ? [{ id, content: contentOf(name, input) }] : []
    })
  return isOutput(members(entries[index - 1])) ? [] : outputCalls(entries, index)
}

/** On Responses an answer is several items, up to the next input. */
function outputCalls(entries: readonly unknown[], from: number): Call[] {
  const calls: Call[] = []
  for (let i = from; i < entries.length; i++) {
    const { type, call_id: id, name, arguments: input, ...item } = members(entries[i])
    if (!isOutput({ type, ...item })) break
    if (type === 'function_call') calls.push({ id, content: contentOf(name, input) })
  }
  return calls
}

function isOutput({ type, role }: Members): boolean {
  return type === 'reasoning' || type === 'function_call' || role === 'assistant'
}

function isSame(sent: readonly Call[], calls: readonly Call[]): boolean {
  return sent.length === calls.length && sent.every(({ content }, k) => content === calls[k]?.content)
}

/** Whether a host accepts this id in a history. */
function isTaken(id: unknown, wire: WireName, host: Host): id is string {
  if (!isText(id)) return false
  if (host === 'mistral') return /^[a-zA-Z0-9]{9}$/.test(id)
  return wire === 'openai-chat' ? id.length > 0 && id.length <= LONGEST_ID : /^[a-zA-Z0-9_-]{1,64}$/.test(id)
}

/** Without an id that no host accepts back: it need not be kept. */
function short(id: string): string | undefined {
  return id.length <= LONGEST_ID ? id : undefined
}

function contentOf(name: unknown, input: unknown): string {
  return hashOf(`${isText(name) ? name : ''} ${normal(input)}`)
}

function hashOf(text: string): string {
  return hash('sha256', text, 'base64')
}

/** JSON without the spaces that its writer chose; what is not JSON stays as it is. */
function normal(value: unknown): string {
  try {
    return JSON.stringify(isText(value) ? JSON.parse(value) : value) ?? ''
  } catch {
    return isText(value) ? value : ''
  }
}
