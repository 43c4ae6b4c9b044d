/** Converts updates of a turn to chunks of the UI message stream, protocol v1. */

import type { UIMessageChunk } from 'ai'
import { shownQuestion } from '../approvals.ts'
import { callErrorText, outputShown, type Present, resultShown, turnErrorText } from '../present.ts'
import { cardIdOf } from '../turn/card.ts'
import type { CardAnswer, InnerCall, PartType, Question, TurnUpdate } from '../turn/turn-update.ts'
import { type CallState, type ChatMetadata, chatQuestion } from './message-metadata.ts'
import { isDataPart, partsOf, shownUserMessage } from './user-message.ts'

export interface ChunkOptions extends Present {
  /** The id of the UI message. Default: the id of the turn, or of the run. */
  readonly messageId?: string
  /** The major version of the `ai` package in the browser. Default 7. Version 6 cannot remove text: see `hold`. */
  readonly version?: 6 | 7
}

/** The options for a stream, or for a history. */
export interface UIChunksOptions extends ChunkOptions {
  /**
   * The cards that the page may have loaded with their results. Their input comes in one piece, as if the model wrote it: a client runs the page's own
   * tool at `tool-input-available`.
   */
  readonly ended?: ReadonlySet<string>
  /** Whether the chunks become messages here. Then the answers to approvals are among them, also in version 6, which has no chunk for them. */
  readonly isHistory?: boolean
}

type InputChunk = Extract<UIMessageChunk, { type: 'tool-input-available' }>
type CallUpdate = Extract<TurnUpdate, { type: 'call' | `call-${string}` }>
type ResultUpdate = Pick<Extract<TurnUpdate, { type: 'call-result' }>, 'message' | 'isDenied' | 'isRunning' | 'isEarly'>

export class UIChunks {
  readonly #options: UIChunksOptions
  /** The part that is being streamed: version 6 ends it where version 7 removes it. */
  #open: { readonly part: PartType; readonly id: string } | undefined
  #hasStarted = false

  constructor(options: UIChunksOptions) {
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
        return approvalRequest(update.question)
      case 'inner-call':
        return this.#card(innerCall(update.call, this.#options))
      case 'inner-result':
        return [this.#result(update.id, update)]
      case 'card-answer':
        return this.#answer(update)
      case 'turn-resumed':
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
        return [{ type: 'tool-input-start', toolCallId: cardOf(update), toolName: update.toolName, dynamic: true }]
      case 'call-delta':
        // It comes whole.
        if (this.#options.ended?.has(cardOf(update))) return []
        return [{ type: 'tool-input-delta', toolCallId: cardOf(update), inputTextDelta: update.delta }]
      case 'call': {
        if (update.isTold) return []
        const { id: callId, name: toolName, input, providerResult } = update.call
        const toolCallId = cardOf({ callId })
        const isOfProvider = providerResult !== undefined && { providerExecuted: true }
        const call = {
          type: 'tool-input-available',
          toolCallId,
          toolName,
          input,
          dynamic: true,
          ...isOfProvider,
        } as const
        if (!isOfProvider) return this.#card(call)
        const output = outputShown(this.#options, providerResult, { toolName, callId, isProgress: false })
        return [call, { type: 'tool-output-available', toolCallId, output, dynamic: true, providerExecuted: true }]
      }
      case 'call-entered':
        return [callState(cardOf(update), 'running', update.isEarly)]
      case 'call-settled':
        return [callState(cardOf(update), 'settled', true)]
      case 'call-progress': {
        const { callId, toolName, progress } = update
        const output = outputShown(this.#options, progress, { toolName, callId, isProgress: true })
        return [{ type: 'tool-output-available', toolCallId: cardOf(update), output, dynamic: true, preliminary: true }]
      }
      case 'call-result':
        return [this.#result(cardOf(update.message), update)]
    }
  }

  #card(card: InputChunk): readonly UIMessageChunk[] {
    const { type: _, input, ...call } = card
    if (!this.#options.ended?.has(card.toolCallId)) return [card]
    return [
      { ...call, type: 'tool-input-start' },
      { type: 'tool-input-delta', toolCallId: card.toolCallId, inputTextDelta: JSON.stringify(input) },
    ]
  }

  #answer({ id, question: approvalId, isAllowed, reason }: CardAnswer): readonly UIMessageChunk[] {
    const { version, isHistory = false } = this.#options
    if (version === 6 && !isHistory) return []
    return [
      { type: 'tool-approval-request', approvalId, toolCallId: id },
      {
        type: 'tool-approval-response',
        approvalId,
        approved: isAllowed,
        ...(reason !== undefined && { reason }),
      },
    ]
  }

  #result(toolCallId: string, { message, isDenied, isRunning, isEarly }: ResultUpdate): UIMessageChunk {
    if (isDenied) return { type: 'tool-output-denied', toolCallId }
    if (message.isError)
      return { type: 'tool-output-error', toolCallId, errorText: callErrorText(this.#options, message), dynamic: true }
    const output = resultShown(this.#options, message)
    const isPreliminary = (isRunning || isEarly) && { preliminary: true }
    return { type: 'tool-output-available', toolCallId, output, dynamic: true, ...isPreliminary }
  }

  #reset(): readonly UIMessageChunk[] {
    const open = this.#open
    this.#open = undefined
    if (this.#options.version !== 6) return [{ type: 'reset-step' }]
    return open ? [{ type: `${open.part}-end`, id: open.id }] : []
  }

  #userMessage({ id, message, display }: TurnUpdate & { readonly type: 'user-message' }): readonly UIMessageChunk[] {
    if (this.#options.version === 6)
      return [{ type: 'data-user-message', id, data: shownUserMessage(message, display) }]
    const said = { type: 'steering-message', id, parts: partsOf(message) } as const
    // This version admits only texts and files in the message.
    const { parts, ...more } = shownUserMessage(message, display)
    const data = { ...more, parts: parts.filter(isDataPart) }
    const hasData = data.parts.length > 0 || data.metadata !== undefined
    return hasData ? [said, { type: 'data-steering', id, data }] : [said]
  }

  #end({ status, error, usage }: TurnUpdate & { readonly type: 'turn-end' }): readonly UIMessageChunk[] {
    // A turn that never began has no message.
    if (status === 'dropped' || !this.#hasStarted) return [{ type: 'abort' }]
    const messageMetadata = { ...metadata(status), ...(usage && { usage }) }
    const told = { type: 'message-metadata', messageMetadata } as const
    if (status === 'failed') return [told, { type: 'error', errorText: turnErrorText(this.#options, error) }]
    return status === 'stopped' ? [told, { type: 'abort' }] : [told]
  }
}

function cardOf(call: { readonly callId: string }): string {
  return cardIdOf([call])
}

/** A question that no approval answers is only in the metadata. */
function approvalRequest({ id, kind, card }: Question): readonly UIMessageChunk[] {
  return kind === 'approval' && card ? [{ type: 'tool-approval-request', approvalId: id, toolCallId: card.id }] : []
}

function innerCall({ id, toolName, title, input, callId }: InnerCall, { version }: ChunkOptions): InputChunk {
  const card = { type: 'tool-input-available', toolCallId: id, toolName, input, dynamic: true, title } as const
  return version === 6 ? card : { ...card, toolMetadata: { inside: cardOf({ callId }) } }
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
