/** The texts in the messages that spans record. */

import type { Attributes } from '../span.ts'
import { content, members, text } from './attributes.ts'
import type { Request } from './run.ts'

interface Part {
  readonly kind: 'text' | 'thinking' | 'other'
  readonly text: string
  /** The part asks for this call. */
  readonly request?: Request
}

interface Message {
  readonly role: string
  readonly parts: readonly Part[]
}

/** What the user said last before this response, or in the input of this run. */
export function promptOf(attributes: Attributes): string | undefined {
  const asked = inputOf(attributes).findLast(({ role, parts }) => role === 'user' && textOf(parts, 'text'))
  return asked && textOf(asked.parts, 'text')
}

/** What the model wrote. */
export function writtenBy(attributes: Attributes): { readonly text?: string; readonly thinking?: string } {
  const parts = outputOf(attributes).flatMap((message) => message.parts)
  const [written, thinking] = [textOf(parts, 'text'), textOf(parts, 'thinking')]
  return { ...(written && { text: written }), ...(thinking && { thinking }) }
}

/** The calls that the model asked for, in the form of the GenAI conventions. */
export function requestedBy(attributes: Attributes): readonly Request[] {
  return outputOf(attributes).flatMap(({ parts }) => parts.flatMap(({ request }) => request ?? []))
}

function textOf(parts: readonly Part[], kind: Part['kind']): string | undefined {
  const found = parts.filter((part) => part.kind === kind).map((part) => part.text)
  return found.join('\n').trim() || undefined
}

function inputOf(attributes: Attributes): readonly Message[] {
  const conventional = messages(content(attributes, 'gen_ai.input.messages', 'ai.prompt.messages'))
  return conventional.length > 0 ? conventional : numbered(attributes, 'llm.input_messages')
}

function outputOf(attributes: Attributes): readonly Message[] {
  const conventional = messages(content(attributes, 'gen_ai.output.messages'))
  if (conventional.length > 0) return conventional
  const flat = numbered(attributes, 'llm.output_messages')
  if (flat.length > 0) return flat
  const written = text(attributes, 'ai.response.text')
  return written ? [{ role: 'assistant', parts: [{ kind: 'text', text: written }] }] : []
}

/** The form of the GenAI conventions: `[{ role, parts: [{ type, content }] }]`. Older ones have `content` in place of `parts`. */
function messages(value: unknown): readonly Message[] {
  if (!Array.isArray(value)) return []
  return value.map((one: unknown) => {
    const { role, parts, content: whole } = members(one)
    return {
      role: typeof role === 'string' ? role : '',
      parts: Array.isArray(parts) ? parts.map(partOf) : partsOf(whole),
    }
  })
}

function partsOf(whole: unknown): readonly Part[] {
  if (typeof whole === 'string') return [{ kind: 'text', text: whole }]
  return Array.isArray(whole) ? whole.map(partOf) : []
}

function partOf(value: unknown): Part {
  const { type, content: written, text: older, id, name, arguments: input } = members(value)
  const said = typeof written === 'string' ? written : typeof older === 'string' ? older : ''
  if (type === 'text') return { kind: 'text', text: said }
  if (type === 'tool_call' && typeof id === 'string' && typeof name === 'string')
    return { kind: 'other', text: said, request: { id, tool: name, ...(input !== undefined && { input }) } }
  return { kind: type === 'reasoning' ? 'thinking' : 'other', text: said }
}

const MOST_MESSAGES = 10_000

/** The form of OpenInference: `llm.input_messages.0.message.role` and so on. */
function numbered(attributes: Attributes, prefix: string): readonly Message[] {
  const found: Message[] = []
  while (found.length < MOST_MESSAGES) {
    const at = `${prefix}.${found.length}.message`
    const role = text(attributes, `${at}.role`)
    if (role === undefined) break
    const parts: Part[] = []
    const whole = text(attributes, `${at}.content`)
    if (whole !== undefined) parts.push({ kind: 'text', text: whole })
    for (let n = 0; n < MOST_MESSAGES; n++) {
      const inner = `${at}.contents.${n}.message_content`
      if (attributes[`${inner}.type`] === undefined) break
      parts.push({ kind: 'text', text: text(attributes, `${inner}.text`) ?? '' })
    }
    found.push({ role, parts })
  }
  return found
}
