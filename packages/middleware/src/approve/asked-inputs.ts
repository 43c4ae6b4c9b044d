/** The inputs that `approve` has asked about in a step, and the decisions, also after a resume. */

import { type Cell, type Json, makersOf, type Run, runLocal, type ToolCall } from '@meanwhile/core'
import { answeredPayloads, isRecord, sameInput } from '@meanwhile/core/calls'
import { schemaOf } from '../schema-of.ts'

/** One question about a call. A wrap outside may pass a call on several times, with other inputs. */
export interface AskedInput {
  /** The input before it was checked. */
  readonly given: Json
  /** The checked input, as the question shows it. */
  readonly input: Json
  /** Whether the checked input itself is JSON. */
  readonly isJson: boolean
  /** The answer, once it has arrived. */
  readonly answer?: Json
}

/** The questions of a run. */
export interface AskedInputs {
  /** The question about this input of this call, with its answer if the run has one. */
  find(call: ToolCall, run: Run): AskedInput | undefined
  /** Keeps a question in place of an earlier one about the same input. */
  put(asked: AskedInput, call: ToolCall, run: Run): void
}

/** Creates the questions of a middleware. Call it once. */
export function askedInputs(): AskedInputs {
  // One cell per call, because each change of a cell copies all of it.
  const cells: ((run: Run) => Cell<AskedCall>)[] = []
  const steps = runLocal(() => ({ step: -1, places: new Map<string, number>() }))

  function cellAt(place: number, run: Run): Cell<AskedCall> {
    const key = `approve/inputs/${place}`
    cells[place] ??= runLocal({ key, schema: schemaOf(isAskedCall), initial: { step: 0, path: '', inputs: [] } })
    return cells[place](run)
  }

  /** The places of the calls of this step. At its first use in a step it removes earlier calls, and finds those of a checkpoint. */
  function placesOf(run: Run): Map<string, number> {
    const kept = steps(run)
    if (kept.step === run.step) return kept.places
    kept.step = run.step
    kept.places.clear()
    for (let place = 0; cellAt(place, run).value.path !== ''; place++) {
      const cell = cellAt(place, run)
      if (cell.value.step === run.step) kept.places.set(cell.value.path, place)
      else cell.delete()
    }
    return kept.places
  }

  function inputsOf(path: string, run: Run): readonly AskedInput[] {
    const place = placesOf(run).get(path)
    return place === undefined ? [] : cellAt(place, run).value.inputs
  }

  return {
    find(call, run) {
      // All answers are kept at once, because the run forgets them when the wrap returns, and another input may be passed on first.
      for (const one of inputsOf(pathOf(call, run), run)) {
        const answer = one.answer === undefined ? answerAbout(one.input, run) : undefined
        if (answer !== undefined) this.put({ ...one, answer }, call, run)
      }
      return inputsOf(pathOf(call, run), run).find(({ given }) => sameInput(given, call.input))
    },
    put(asked, call, run) {
      const path = pathOf(call, run)
      const others = inputsOf(path, run).filter(({ given }) => !sameInput(given, asked.given))
      const places = placesOf(run)
      const place = places.get(path) ?? places.size
      places.set(path, place)
      cellAt(place, run).value = { step: run.step, path, inputs: [...others, asked] }
    },
  }
}

/** The answer that the run has to the question about this checked input of a call. */
export function answerAbout(input: Json, run: Run): Json | undefined {
  const place = answeredPayloads(run).findLastIndex((one) => isRecord(one) && sameInput(one.input, input))
  return run.answers[place]
}

/** Identifies a call in its step: calls that different calls make may have the same id. */
function pathOf({ id }: ToolCall, run: Run): string {
  return JSON.stringify([...makersOf(run), id])
}

interface AskedCall {
  readonly step: number
  /** Empty if the cell is free. */
  readonly path: string
  readonly inputs: readonly AskedInput[]
}

function isAskedCall(value: unknown): value is AskedCall {
  if (!isRecord(value) || typeof value.step !== 'number' || typeof value.path !== 'string') return false
  return Array.isArray(value.inputs) && value.inputs.every(isInput)
}

function isInput(value: unknown): value is AskedInput {
  return isRecord(value) && 'given' in value && 'input' in value && typeof value.isJson === 'boolean'
}
