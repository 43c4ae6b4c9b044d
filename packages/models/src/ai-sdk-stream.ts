/** Converts a stream of the AI SDK's specification to model events. */

import type { Assembler, PartOptions, ReadChunk } from '@meanwhile/assemble'
import { allowsCalls, ConfigError, type FinishReason, type ModelRequest } from '@meanwhile/core'
import { PartCalls } from './ai-sdk-calls.ts'
import { filePart } from './ai-sdk-files.ts'
import { FALLBACK, type Keeper, ownMetadata } from './ai-sdk-kept.ts'
import type {
  CustomPart,
  FilePiece,
  FinishPart,
  ResultPart,
  SpokenPart,
  StreamPart,
  StreamStart,
} from './ai-sdk-model.ts'
import { usageOf } from './ai-sdk-usage.ts'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { StreamedError } from './explain.ts'
import { finishReasonOf } from './finish-reasons.ts'
import { type Bounds, singleResponse } from './single-response.ts'
import { isCutOff } from './stop-reason.ts'
import { textIn } from './wire-values.ts'

/** What certain parts guarantee, depending on the provider's wire. */
export interface Stated {
  /** A `tool-call` part means that the call is finished. */
  readonly seals: boolean
  /** A `response-metadata` part means that a response begins. */
  readonly begins: boolean
}

/** Reads the parts of a stream. */
export function partReader(
  kept: Keeper,
  { seals, begins }: Stated,
  { inputLimits }: Pick<ModelRequest, 'inputLimits'>,
): ReadChunk<StreamPart> {
  // Ids may be repeated, for example for the text after a call, so a start always begins something new.
  let begun = 0
  const texts = new Map<string, PartOptions>()
  const thoughts = new Map<string, PartOptions>()
  const calls = new PartCalls(kept, seals, () => begun++, inputLimits)
  // The type of an approval that a call of the provider waits for.
  let approval: string | undefined

  function options(parts: Map<string, PartOptions>, { type, id, providerMetadata }: SpokenPart): PartOptions {
    let part = type === 'text-start' || type === 'reasoning-start' ? undefined : parts.get(id)
    if (!part) {
      part = { label: begun++ }
      parts.set(id, part)
    }
    const metadata = ownMetadata(providerMetadata)
    return metadata ? { ...part, metadata } : part
  }

  function result(part: ResultPart, to: Assembler): void {
    const { toolCallId: id, result, isError, providerMetadata: resultMetadata } = part
    const known = calls.label(id)
    // The call is in an earlier response, so the result is a separate part.
    const resultOf = known === undefined ? id : undefined
    const label = known ?? begun++
    const metadata = kept.keep({ executed: true, ...defined({ isError, resultMetadata, resultOf }) })
    to.call(label, { id, name: part.toolName, providerResult: result ?? null, metadata })
    if (resultOf !== undefined) to.seal(label)
  }

  function file(part: FilePiece, to: Assembler): void {
    to.text('', {
      label: begun++,
      metadata: { ...ownMetadata(part.providerMetadata), ...kept.keep({ file: filePart(part) }) },
    })
  }

  function custom({ kind, providerMetadata }: CustomPart, to: Assembler): void {
    // Every response contains this report; it is not sent back.
    if (kind === 'anthropic.message_start') return
    // The calls of the model that refused must not run, even if they are sealed (qA11).
    if (kind === FALLBACK) calls.withdraw(to)
    to.text('', { label: begun++, metadata: { ...ownMetadata(providerMetadata), ...kept.keep({ custom: kind }) } })
  }

  function finish({ finishReason, usage }: FinishPart, to: Assembler): void {
    to.usage(usageOf(usage))
    if (approval) throw new ClientCallError(approval)
    const { unified, raw } =
      typeof finishReason === 'string' ? { unified: finishReason, raw: finishReason } : finishReason
    // No finish reason arrived: `interrupted` in version 4, `other` without a raw reason in 3, `unknown` in 2.
    if (unified === 'interrupted' || unified === 'unknown' || (unified === 'other' && raw === undefined)) return
    const reason = reasonOf(unified, raw)
    calls.finish(allowsCalls(reason), to)
    to.response(defined({ finishReason: raw }))
    to.finish(reason)
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
        return to.text(textIn(part.delta), options(texts, part))
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return to.reasoning(textIn(part.delta), options(thoughts, part))
      case 'tool-input-start':
        return calls.start(part, to)
      case 'tool-input-delta':
      case 'tool-input-end':
        return calls.add(part, to)
      case 'tool-call':
        return calls.addWhole(part, to)
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

const UNIFIED: ReadonlySet<string> = new Set<FinishReason>(['stop', 'tool-calls', 'length', 'content-filter', 'error'])

/**
 * The providers of the AI SDK know fewer words than we do. One that they do not know is `other` for them, or, on
 * Responses, `tool-calls` if there are calls, even if it says that the response was cut off (qR18).
 */
function reasonOf(unified: string, raw: string | undefined): FinishReason {
  const own = finishReasonOf(raw)
  return isCutOff(own) || !isUnified(unified) ? own : unified
}

function isUnified(word: string): word is FinishReason {
  return UNIFIED.has(word)
}
