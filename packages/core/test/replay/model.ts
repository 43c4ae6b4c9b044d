/** The model of a world: it says the calls of a scenario, one at a time. */

import type { AssistantMessage, Message, Model, ModelEvent, ModelRequest, ToolCall } from '../../src/index.ts'
import type { Place } from './place.ts'
import { type Attempt, inputOf, letterOf, type Scenario } from './scenario.ts'

export function modelOf(place: Place, steps: Scenario['steps'], name = ''): Model {
  const attempts = new Map<number, number>()
  return {
    provider: 'world',
    id: 'world',
    async *stream(request) {
      const step = stepOf(request.messages)
      const attempt = attempts.get(step) ?? 0
      attempts.set(step, attempt + 1)
      const { journal, process, isCancelled } = place
      if (!name && attempt === 0) journal.modelCalls.push({ process, step, isCancelled })
      if (!name) place.announced = new Map()
      place.reached('the model is called')
      if (place.scenario.bursts && attempt === 0) await place.gates.pass(`${name}the model streams`)
      const { calls, fails } = attemptOf(steps, step, attempt)
      const content: ToolCall[] = []
      for (const [index, word] of calls.entries()) {
        const call = callOf(word, `${name}p${process}s${step}a${attempt}c${index}`)
        yield* said(place, request, name, word, call)
        content.push(call)
      }
      await passed(place, request, `${name}the model ${fails ? 'breaks off' : 'stands'}`)
      if (fails) throw new place.on.core.ModelError('broken', { code: 'stream_truncated', retryable: true })
      return content.length > 0 ? { role: 'assistant', content, finishReason: 'tool-calls' } : answer(request)
    },
  }
}

export function callOf(word: string, id: string): ToolCall {
  const n = inputOf(word)
  return { type: 'tool-call', id, name: letterOf(word), input: letterOf(word) === 'N' ? { n, more: 'more' } : { n } }
}

export const wordOf = ({ name, input }: Pick<ToolCall, 'name' | 'input'>): string =>
  name + String((input as { readonly n?: unknown } | undefined)?.n)

export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.map((part) => ('text' in part ? part.text : '')).join('')
}

function attemptOf(steps: Scenario['steps'], step: number, attempt: number): Attempt {
  const all = steps[step] ?? []
  return all[Math.min(attempt, all.length - 1)] ?? { calls: [] }
}

async function* said(
  place: Place,
  request: ModelRequest,
  name: string,
  word: string,
  call: ToolCall,
): AsyncGenerator<ModelEvent, void> {
  const { needs } = request.tools.find((one) => one.name === call.name) ?? {}
  await passed(place, request, `${name}says ${word}`)
  if (!name) place.announced.set(call.id, word)
  place.journal.said.set(call.id, word)
  yield { type: 'tool-input-start', id: call.id, name: call.name }
  if (needs) {
    yield { type: 'tool-input-ready', id: call.id, name: call.name, input: { n: inputOf(word) } }
    await passed(place, request, `${name}says the rest of ${word}`)
  }
  yield { type: 'tool-call', call }
}

/** A model that is stopped throws the reason; it may also have been about to go on. */
async function passed({ gates, scenario }: Place, { signal }: ModelRequest, name: string): Promise<void> {
  if (scenario.bursts) return signal.throwIfAborted()
  const how = await gates.pass(name, () => (signal.aborted ? ['stops'] : ['']))
  if (how === 'stops') throw signal.reason
}

/** The step of the script: how many responses the history has. */
function stepOf(messages: readonly Message[]): number {
  return messages.filter((message) => message.role === 'assistant' && !message.cutOff).length
}

/** No two answers are equal. */
function answer({ messages }: ModelRequest): AssistantMessage {
  return textual(`Answer ${stepOf(messages)}`)
}

export const textual = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})
