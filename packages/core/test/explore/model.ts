/** The models of a world: that of its runs requests the calls of a scenario, one at a time, and that of an agent inside a call makes one call. */

import type { AssistantMessage, Flow, Model, ModelEvent, ModelRequest, ToolCall } from '../../src/index.ts'
import { textOf } from '../../src/vocabulary/message.ts'
import { answer, toolCall } from '../messages.ts'
import type { Place } from './place.ts'
import { inputOf, letterOf, madeBy, type Steps } from './scenario.ts'

/** `beside`: of the other run, of which nothing is recorded. */
export function modelOf(place: Place, steps: Steps, beside = ''): Model {
  const attempts = new Map<number, number>()
  return {
    provider: 'world',
    id: 'world',
    async *stream(request) {
      // The step of the script: how many responses the history has.
      const step = request.messages.filter((message) => message.role === 'assistant' && !message.cutOff).length
      const attempt = attempts.get(step) ?? 0
      attempts.set(step, attempt + 1)
      if (!beside) place.announced = new Map()
      if (!beside && attempt === 0) {
        place.journal.steps.push(step)
        stepBegins(place, `step ${step}`)
      }
      place.reached('the model is called')
      const said = steps[step]?.[attempt] ?? steps[step]?.at(-1)
      const content: ToolCall[] = []
      for (const [index, word] of (said?.calls ?? []).entries()) {
        const call = callOf(word, `${beside}p${place.process}s${step}a${attempt}c${index}`)
        yield* saying(place, request, beside, call)
        content.push(call)
      }
      await passed(place, request, `${beside}the model ${said?.fails ? 'breaks off' : 'stands'}`)
      if (said?.fails) throw new place.on.core.ModelError('broken', { code: 'stream_truncated', retryable: true })
      // No two answers are equal.
      return content.length > 0 ? requesting(content) : answer(`Answer ${step}`)
    },
  }
}

/** The agent makes one call, and answers with what it has read. */
export function modelOfAgent(place: Place, letter: string): Model {
  return {
    provider: 'world',
    id: 'inner',
    async *stream({ messages: [asked, ...more] }) {
      const { n } = JSON.parse(asked ? textOf(asked) : '') as { readonly n: string }
      const read = more.at(-1)
      if (read) stepBegins(place, `a step of ${letter}`)
      if (read?.role === 'tool') return answer(`${letter}${n} of ${textOf(read)}`)
      const call = callOf(madeBy(letter + n) ?? '', 'inner')
      yield { type: 'tool-call', call }
      return requesting([call])
    },
  }
}

export function callOf(word: string, id: string): ToolCall {
  const n = inputOf(word)
  return toolCall(id, letterOf(word), letterOf(word) === 'N' ? { n, more: 'more' } : { n })
}

export const wordOf = ({ name, input }: Pick<ToolCall, 'name' | 'input'>): string =>
  name + String((input as { readonly n?: unknown } | undefined)?.n)

/**
 * A step begins, here or in an agent inside a call. Whatever has stopped the run in the same move may have come too late for it. The first step
 * of a resume may be one that goes on: only a cancel `now` stops it.
 */
function stepBegins(place: Place, step: string): void {
  const { stoppedIn, journal, path, amid } = place
  const goesOn = place.process > 1 && place.steps++ === 0
  if (goesOn && !amid.cancels.includes('now')) return
  if (stoppedIn && stoppedIn.move < path.length) journal.late.push(`${step} after ${stoppedIn.by}`)
}

async function* saying(place: Place, request: ModelRequest, beside: string, call: ToolCall): Flow<ModelEvent, void> {
  const { id, name } = call
  const word = wordOf(call)
  await passed(place, request, `${beside}says ${word}`)
  if (!beside) place.announced.set(id, word)
  place.journal.said.set(id, word)
  yield { type: 'tool-input-start', id, name }
  if (request.tools.find((one) => one.name === name)?.needs) {
    yield { type: 'tool-input-ready', id, name, input: { n: inputOf(word) } }
    await passed(place, request, `${beside}says the rest of ${word}`)
  }
  yield { type: 'tool-call', call }
}

/** A model that is stopped throws the reason. */
async function passed({ gates }: Place, { signal }: ModelRequest, name: string): Promise<void> {
  if ((await gates.pass(name, () => (signal.aborted ? ['stops'] : ['']))) === 'stops') throw signal.reason
}

const requesting = (content: ToolCall[]): AssistantMessage => ({ ...answer(''), content, finishReason: 'tool-calls' })
