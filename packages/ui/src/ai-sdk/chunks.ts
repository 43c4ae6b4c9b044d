/** Converts updates of a turn to chunks of the UI message stream, protocol v1. */

import type { UIMessageChunk } from 'ai'
import { shownQuestion } from '../approvals.ts'
import { callErrorText, outputShown, type Present, resultShown, turnErrorText } from '../present.ts'
import type { PartType, Question, TurnUpdate } from '../turn/turn-update.ts'
import { type CallState, type ChatMetadata, chatQuestion } from './message-metadata.ts'
import { partsOf } from './user-message.ts'

export interface ChunkOptions extends Present {
  /** The id of the UI message. Default: the id of the turn, or of the run. */
  readonly messageId?: string
  /** The major version of the `ai` package in the browser. Default 7. Version 6 cannot remove text: see `hold`. */
  readonly version?: 6 | 7
}

type CallUpdate = Extract<TurnUpdate, { type: 'call' | `call-${string}` }>

export class UIChunks {
  readonly #options: ChunkOptions
  /** The part that is being streamed: version 6 ends it where version 7 removes it. */
  #open: { readonly part: PartType; readonly id: string } | undefined
  #hasStarted = false
  /** Cards that wait for an approval. */
  readonly #asking = new Set<string>()

  constructor(options: ChunkOptions) {
    this.#options = options
  }

  of(update: TurnUpdate): readonly UIMessageChunk[] {
    switch (update.type) {
      case 'turn-start':
        this.#hasStarted = true
        return [
          { type: 'start', messageId: this.#options.messageId ?? update.turn, messageMetadata: metadata('running') },
        ]
      case 'step-start':
        return [{ type: 'start-step' }]
      case 'step-end':
        return [{ type: 'finish-step' }]
      case 'step-reset':
        return this.#reset()
      case 'part-start':
        this.#open = update
        return [{ type: `${update.part}-start`, id: update.id }]
      case 'part-delta':
        return [{ type: `${update.part}-delta`, id: update.id, delta: update.delta }]
      case 'part-end':
        this.#open = undefined
        return [{ type: `${update.part}-end`, id: update.id }]
      case 'user-message':
        return this.#userMessage(update)
      case 'question':
        return this.#question(update.question)
      case 'turn-resumed':
        this.#asking.clear()
        return [{ type: 'message-metadata', messageMetadata: metadata('running') }]
      case 'turn-waiting':
        return [{ type: 'message-metadata', messageMetadata: metadata('waiting', update.questions, this.#options) }]
      case 'turn-outdated':
        return [{ type: 'error', errorText: 'This conversation was interrupted. Load it again.' }]
      case 'turn-end':
        return this.#end(update)
      default:
        return this.#call(update)
    }
  }

  #call(update: CallUpdate): readonly UIMessageChunk[] {
    switch (update.type) {
      case 'call-start':
        return [{ type: 'tool-input-start', toolCallId: update.callId, toolName: update.toolName, dynamic: true }]
      case 'call-delta':
        return [{ type: 'tool-input-delta', toolCallId: update.callId, inputTextDelta: update.delta }]
      case 'call': {
        const { id: toolCallId, name: toolName, input, providerResult } = update.call
        const isOfProvider = providerResult !== undefined && { providerExecuted: true }
        const call = {
          type: 'tool-input-available',
          toolCallId,
          toolName,
          input,
          dynamic: true,
          ...isOfProvider,
        } as const
        if (!isOfProvider) return [call]
        const output = outputShown(this.#options, providerResult, { toolName, callId: toolCallId, isProgress: false })
        return [call, { type: 'tool-output-available', toolCallId, output, dynamic: true, providerExecuted: true }]
      }
      case 'call-entered':
        return [callState(update.callId, 'running', update.isEarly)]
      case 'call-settled':
        return [callState(update.callId, 'settled', true)]
      case 'call-progress': {
        const { callId: toolCallId, toolName, progress } = update
        const output = outputShown(this.#options, progress, { toolName, callId: toolCallId, isProgress: true })
        return [{ type: 'tool-output-available', toolCallId, output, dynamic: true, preliminary: true }]
      }
      case 'call-result': {
        const { message } = update
        const toolCallId = message.callId
        if (message.isError)
          return [
            { type: 'tool-output-error', toolCallId, errorText: callErrorText(this.#options, message), dynamic: true },
          ]
        const output = resultShown(this.#options, message)
        return [{ type: 'tool-output-available', toolCallId, output, dynamic: true }]
      }
    }
  }

  #reset(): readonly UIMessageChunk[] {
    const open = this.#open
    this.#open = undefined
    if (this.#options.version !== 6) return [{ type: 'reset-step' }]
    return open ? [{ type: `${open.part}-end`, id: open.id }] : []
  }

  /** A card can show one approval. Further approvals inside the same call, and all other questions, are only in the metadata. */
  #question({ id, kind, callId }: Question): readonly UIMessageChunk[] {
    if (kind !== 'approval' || callId === undefined || this.#asking.has(callId)) return []
    this.#asking.add(callId)
    return [{ type: 'tool-approval-request', approvalId: id, toolCallId: callId }]
  }

  #userMessage({ id, message }: TurnUpdate & { readonly type: 'user-message' }): readonly UIMessageChunk[] {
    const parts = partsOf(message)
    if (this.#options.version === 6) return [{ type: 'data-user-message', id, data: { parts } }]
    return [{ type: 'steering-message', id, parts }]
  }

  #end({ status, error }: TurnUpdate & { readonly type: 'turn-end' }): readonly UIMessageChunk[] {
    // A turn that never began has no message.
    if (status === 'dropped' || !this.#hasStarted) return [{ type: 'abort' }]
    const told = { type: 'message-metadata', messageMetadata: metadata(status) } as const
    if (status === 'failed') return [told, { type: 'error', errorText: turnErrorText(this.#options, error) }]
    return status === 'stopped' ? [told, { type: 'abort' }] : [told]
  }
}

function metadata(
  status: ChatMetadata['status'],
  questions: readonly Question[] = [],
  present: Present = {},
): ChatMetadata {
  return { status, questions: questions.map((question) => chatQuestion(shownQuestion(question, present))) }
}

/** For `onData`: not part of the message. */
function callState(toolCallId: string, state: CallState['state'], isEarly: boolean): UIMessageChunk {
  const data: CallState = { toolCallId, state, isEarly }
  return { type: 'data-call', data, transient: true }
}
