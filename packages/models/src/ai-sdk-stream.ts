/** Converts a stream of the AI SDK's specification to model events. */

import type { Assembler, FinishReason, Label, PartOptions, ReadChunk } from '@meanwhile/core'
import { argumentsText, ConfigError } from '@meanwhile/core'
import { filePart } from './ai-sdk-files.ts'
import { FALLBACK, type Keeper } from './ai-sdk-kept.ts'
import type {
  CallPart,
  CustomPart,
  FilePiece,
  FinishPart,
  InputPiece,
  InputStart,
  ResultPart,
  SpokenPart,
  StreamPart,
  StreamStart,
} from './ai-sdk-model.ts'
import { usageOf } from './ai-sdk-usage.ts'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError, StreamedError } from './explain.ts'
import { type Bounds, singleResponse } from './single-response.ts'

/** What certain parts guarantee, depending on the provider's wire. */
export interface Stated {
  /** A `tool-call` part means that the call is finished. */
  readonly seals: boolean
  /** A `response-metadata` part means that a response begins. */
  readonly begins: boolean
}

/** A call whose input is streaming. */
interface OpenCall {
  readonly label: Label
  readonly name: string
  /** Its deltas are not pieces of JSON. */
  readonly isText: boolean
  isFed: boolean
  isEnded: boolean
}

/** The calls that have the same id. */
interface OpenCalls {
  readonly latest: OpenCall
  /** Those whose `tool-call` part has not arrived, in the order of their starts. */
  readonly unstated: Set<OpenCall>
}

/**
 * Reads the parts of a stream. If `seals` is set, a `tool-call` part, which repeats the whole input, seals its call;
 * `tool-input-end` seals nothing. If the wire does not mark the end of a call, the part does not either: AI SDK 5, some
 * versions of 6, and OpenRouter's provider send it as soon as the input parses. An empty input that did not arrive in
 * pieces is not sealed either, because the response may have been truncated before it (qA10). Such calls are sealed by
 * the end of the response.
 */
export function partReader(kept: Keeper, { seals, begins }: Stated): ReadChunk<StreamPart> {
  // Ids may be repeated, for example for the text after a call, so a start always begins something new.
  let begun = 0
  const texts = new Map<string, PartOptions>()
  const thoughts = new Map<string, PartOptions>()
  // By id: two calls with one id stay two calls (G9).
  const open = new Map<string, OpenCalls>()
  const sealed = new Map<string, Label>()
  const ours: Label[] = []
  // The type of an approval that a call of the provider waits for.
  let approval: string | undefined

  function options(parts: Map<string, PartOptions>, { type, id, providerMetadata: metadata }: SpokenPart): PartOptions {
    let part = type === 'text-start' || type === 'reasoning-start' ? undefined : parts.get(id)
    if (!part) {
      part = { label: begun++ }
      parts.set(id, part)
    }
    return metadata ? { ...part, metadata } : part
  }

  function start(part: InputStart, to: Assembler): void {
    const isText = part.inputEncoding === 'text'
    const call: OpenCall = { label: begun++, name: part.toolName, isText, isFed: false, isEnded: false }
    const { latest, unstated } = open.get(part.id) ?? { latest: undefined, unstated: new Set<OpenCall>() }
    // It cannot be decided whether it is the same call (qA15).
    if (latest && unstated.has(latest) && !latest.isFed && !latest.isEnded && latest.name !== call.name) {
      throw new ContradictionError(
        `the call that started as ${latest.name} started again as ${call.name} before it ended`,
      )
    }
    open.set(part.id, { latest: call, unstated: unstated.add(call) })
    announce(call.label, part.id, part, to)
  }

  function add({ type, id, delta, providerMetadata: metadata }: InputPiece, to: Assembler): void {
    const call = open.get(id)?.latest
    // For a piece without a start, the `tool-call` part will identify the call.
    if (!call) return
    to.call(call.label, { delta: call.isText ? undefined : delta, ...(metadata && { metadata }) })
    if (delta) call.isFed = true
    if (type === 'tool-input-end') call.isEnded = true
  }

  function stated({ toolCallId: id, toolName: name }: CallPart): OpenCall | undefined {
    const calls = open.get(id)
    if (!calls) return undefined
    const { latest, unstated } = calls
    for (const call of unstated) {
      unstated.delete(call)
      return call
    }
    // A provider that sends the part as soon as the input parses may send it again when a longer input parses.
    return !seals && latest.isFed && latest.name === name ? latest : undefined
  }

  function seal(part: CallPart, to: Assembler): void {
    const call = stated(part)
    const label = call?.label ?? begun++
    const text = typeof part.input === 'string' ? part.input : argumentsText(part.input)
    sealed.set(part.toolCallId, label)
    announce(label, part.toolCallId, part, to)
    const isEmpty = isEmptyInput(text)
    if (call?.isFed) {
      // An empty input does not override the pieces (qR11).
      if (seals) to.seal(label, isEmpty ? undefined : text)
    } else if (!isEmpty) {
      if (seals) to.seal(label, text)
      else to.call(label, { delta: text })
    }
  }

  function announce(label: Label, id: string, part: InputStart | CallPart, to: Assembler): void {
    const { toolName: name, providerMetadata: metadata } = part
    // The provider runs it, even if its result comes late or in another response (G16). This must be known before the
    // name, because a call may start with its name.
    if (part.providerExecuted) to.call(label, { providerResult: null, metadata: kept.keep({ executed: true }) })
    else ours.push(label)
    to.call(label, { id, name, ...(metadata && { metadata }) })
  }

  function result(part: ResultPart, to: Assembler): void {
    const { toolCallId: id, result, isError, providerMetadata: resultMetadata } = part
    const known = sealed.get(id) ?? open.get(id)?.latest.label
    // The call is in an earlier response, so the result is a separate part.
    const resultOf = known === undefined ? id : undefined
    const label = known ?? begun++
    const metadata = kept.keep({ executed: true, ...defined({ isError, resultMetadata, resultOf }) })
    to.call(label, { id, name: part.toolName, providerResult: result ?? null, metadata })
    if (resultOf !== undefined) to.seal(label)
  }

  function file(part: FilePiece, to: Assembler): void {
    to.text('', { label: begun++, metadata: { ...part.providerMetadata, ...kept.keep({ file: filePart(part) }) } })
  }

  function custom({ kind, providerMetadata }: CustomPart, to: Assembler): void {
    // Every response contains this report; it is not sent back.
    if (kind === 'anthropic.message_start') return
    // The calls of the model that refused must not run, even if they are sealed (qA11).
    if (kind === FALLBACK) for (const label of ours) to.call(label, { providerResult: null })
    to.text('', { label: begun++, metadata: { ...providerMetadata, ...kept.keep({ custom: kind }) } })
  }

  function finish({ finishReason, usage }: FinishPart, to: Assembler): void {
    to.usage(usageOf(usage))
    if (approval) throw new ClientCallError(approval)
    const { unified, raw } =
      typeof finishReason === 'string' ? { unified: finishReason, raw: finishReason } : finishReason
    // No finish reason arrived: `interrupted` in version 4, `other` without a raw reason in 3, `unknown` in 2.
    if (unified === 'interrupted' || unified === 'unknown' || (unified === 'other' && raw === undefined)) return
    to.response(defined({ finishReason: raw }))
    to.finish(FINISH_REASONS.get(unified) ?? 'other')
  }

  const bounds: Bounds<StreamPart> = {
    begins: (part) => (begins && part.type === 'response-metadata' && part.id ? part : undefined),
    isLast: ({ type }) => type === 'finish',
  }

  return singleResponse(bounds, (part, to) => {
    switch (part.type) {
      case 'stream-start':
        return refuseDropped(part)
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return to.text(part.delta ?? '', options(texts, part))
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return to.reasoning(part.delta ?? '', options(thoughts, part))
      case 'tool-input-start':
        return start(part, to)
      case 'tool-input-delta':
      case 'tool-input-end':
        return add(part, to)
      case 'tool-call':
        return seal(part, to)
      case 'tool-result':
        return result(part, to)
      case 'file':
        return file(part, to)
      case 'custom':
        return custom(part, to)
      case 'response-metadata':
        return to.response(defined({ id: part.id, model: part.modelId }))
      case 'finish':
        return finish(part, to)
      case 'tool-approval-request':
        approval = part.type
        return
      case 'error':
        throw new StreamedError(part.error)
    }
  })
}

/** Providers omit parts of a tool's result that they do not support, and only send a warning among many others. */
function refuseDropped({ warnings }: StreamStart): void {
  for (const { message } of warnings) {
    if (message && /^unsupported\b.*\btool content part\b/.test(message)) throw new ConfigError('messages', message)
  }
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['tool-calls', 'tool-calls'],
  ['length', 'length'],
  ['content-filter', 'content-filter'],
  ['error', 'error'],
])
