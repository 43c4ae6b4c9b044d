/** The AI SDK's `streamText`, as it is and with what is added to it. */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { eager, resilient } from '@meanwhile/eager-tools/ai-sdk'
import { isStepCount, type LanguageModel, streamText, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import type { Came, FaultLoop, LoopTask } from './loop.ts'

export interface Additions {
  readonly eager?: boolean
  readonly resilient?: boolean
  /** The SDK's own option: it repeats a step whose stream reports an error. */
  readonly streamRetries?: number
}

export function streamTextLoop({ eager: isEager = false, resilient: isOver = false, ...own }: Additions): FaultLoop {
  return async (task) => {
    const models = [modelOf(task), modelOf(task)] as const
    let failure: unknown
    const options = {
      model: isOver ? resilient(models) : models[0],
      tools: toolsOf(task),
      prompt: task.prompt,
      stopWhen: isStepCount(5),
      maxRetries: 0,
      onError: ({ error }: { readonly error: unknown }) => void (failure ??= error),
      ...own,
    }
    const result = streamText(isEager ? eager(options, { look: 'read' }) : options)
    const read = new ReadStream()
    for await (const part of result.fullStream) read.take(part)
    // An error that the SDK has repeated is not one of the run.
    const steps = await result.steps.then(
      (all) => all,
      (error: unknown) => Promise.reject(failure ?? error),
    )
    const kept = steps.map(({ content }) => content.map((part) => JSON.stringify(part)).sort())
    return { ...read.came(), answer: await result.text, kept: withoutIds(JSON.stringify(kept)) }
  }
}

type Part = ReturnType<typeof streamText>['fullStream'] extends AsyncIterable<infer One> ? One : never

class ReadStream {
  #shown = ''
  #orphans = 0
  /** Blocks that have begun and not ended, and all ids, of one step. */
  readonly #open: Set<string> = new Set()
  readonly #ids: Set<string> = new Set()
  /** Calls without a result. */
  readonly #calls: Set<string> = new Set()

  take(part: Part): void {
    switch (part.type) {
      case 'text-start':
      case 'tool-input-start':
        if (this.#ids.has(part.id)) this.#orphans++
        this.#ids.add(part.id)
        this.#open.add(part.id)
        break
      case 'text-delta':
        this.#shown += part.text
        if (!this.#open.has(part.id)) this.#orphans++
        break
      case 'text-end':
        if (!this.#open.delete(part.id)) this.#orphans++
        break
      case 'tool-call':
        this.#open.delete(part.toolCallId)
        this.#calls.add(part.toolCallId)
        break
      case 'tool-result':
      case 'tool-error':
        if (!this.#calls.delete(part.toolCallId)) this.#orphans++
        break
      case 'finish-step':
        this.#orphans += this.#open.size
        this.#open.clear()
        this.#ids.clear()
        break
      default:
    }
  }

  came(): Pick<Came, 'shown' | 'orphans'> {
    return { shown: this.#shown, orphans: this.#orphans + this.#calls.size }
  }
}

/** Ids of items of OpenAI Responses have the number of their response. */
function withoutIds(text: string): string {
  return text.replaceAll(/\b(msg|rs|fc|resp)_\d+_?/g, '$1_')
}

function modelOf({ wire, fetch }: LoopTask): LanguageModel {
  const settings = { apiKey: 'none', fetch }
  if (wire === 'anthropic') return createAnthropic(settings)('m')
  const provider = createOpenAI(settings)
  return wire === 'openai-chat' ? provider.chat('m') : provider.responses('m')
}

function toolsOf({ work }: LoopTask): ToolSet {
  return {
    look: tool({ inputSchema: z.object({ q: z.string() }), execute: (input) => work('look', input) }),
    send: tool({ inputSchema: z.object({ to: z.string() }), execute: (input) => work('send', input) }),
  }
}
