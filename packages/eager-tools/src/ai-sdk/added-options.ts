/** Options that were added to those that `eager()` returned: which runs have none, and warnings about the others. */

import type { EagerLoop } from '../host/eager-loop.ts'
import type { Callback, CallEvent, Messages, SdkOptions, StepStart } from './sdk.ts'
import type { Step, Steps } from './steps.ts'

export class AddedOptions {
  readonly #options: SdkOptions
  readonly #loop: EagerLoop
  readonly #steps: Steps

  constructor(options: SdkOptions, loop: EagerLoop, steps: Steps) {
    this.#options = options
    this.#loop = loop
    this.#steps = steps
  }

  /**
   * Notes the runs whose options are exactly those that were made. Their callback is not enumerable, so options that were
   * copied to add something do not have it.
   */
  noteWhole(made: SdkOptions): void {
    const name = firstFree(this.#options)
    if (!name) return
    const theirs = made[`experimental_${name}`]
    const known = Object.entries(made)
    const note: Callback<CallEvent> = ({ callId }) => {
      const isSame = Object.keys(made).length === known.length
      if (isSame && known.every(([option, value]) => Reflect.get(made, option) === value)) this.#steps.whole(callId)
    }
    Object.defineProperty(made, name, {
      value: both<StepStart>(note, theirs),
      enumerable: false,
      configurable: true,
      writable: true,
    })
  }

  /** A tool is executed by the SDK. Names the option because of which it could not start early. */
  executed(name: string, step: Step | undefined, id: string | undefined, messages: Messages): void {
    if (this.#loop.isBarred(name)) return
    if (!step) {
      // An approved call of an earlier run belongs to no step.
      if (this.#steps.isUnprepared(messages) && !isApproved(messages)) this.replaced('prepareStep')
    } else if (!step.isRequested) {
      this.#loop.unlinked()
    } else if (step.waits && !step.asked.some((one) => one.id === id)) {
      this.replaced('toolApproval')
    }
  }

  replaced(option: 'prepareStep' | 'toolApproval' | 'onStepStart'): void {
    this.#loop.warnOnce(
      'option-replaced',
      `no tool starts early in a request that replaces the ${option} of eager(). Add yours before: eager({ ...options, ${option} }, …)`,
    )
  }

  /** Because of added options, a call of this tool has waited until the response had ended. */
  askedLate(name: string): void {
    // Without a free callback nobody knows whether any were added.
    if (!firstFree(this.#options)) return
    this.#loop.warnOnce(
      'options-added',
      `${name} did not start early: options were added to those that eager() returned, so it waits until the AI SDK asks for an approval, which it does at the end of this response. Add them before: eager({ ...options, prompt }, …)`,
    )
  }
}

const BEFORE_REQUEST = ['onStart', 'onStepStart', 'onLanguageModelCallStart'] as const

/**
 * The first callback of those before a request that the user has not given. It reports options that were not copied;
 * without one, all options count as copied.
 */
function firstFree(options: SdkOptions): (typeof BEFORE_REQUEST)[number] | undefined {
  return BEFORE_REQUEST.find((name) => !options[name])
}

/** Whether the last message approves calls of an earlier run. */
function isApproved(messages: Messages): boolean {
  const content = messages.at(-1)?.content
  return Array.isArray(content) && content.some((part) => Object(part).type === 'tool-approval-response')
}

/** Calls our callback, then the user's. */
export function both<Event>(ours: (event: Event) => void, theirs: Callback<Event> | undefined): Callback<Event> {
  return (event) => {
    ours(event)
    return theirs?.(event)
  }
}
