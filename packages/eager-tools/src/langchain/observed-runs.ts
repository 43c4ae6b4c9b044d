/** Notices runs whose model requests `eager()` does not observe, and warns with the reason. */

import type { EagerLoop } from '../host/eager-loop.ts'
import type { NodeConfig } from './library.ts'

export class ObservedRuns {
  readonly #loop: EagerLoop
  /** Runs of which a model request was observed. */
  readonly #seen = new WeakSet<object>()
  /** By run: a message that requests a declared tool, although no model request was observed. */
  readonly #unseen = new WeakMap<object, object>()
  #hasBound = false
  #hasLost = false

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** A model was given declared tools. */
  bound(): void {
    this.#hasBound = true
  }

  /** A request was observed; `undefined` if its node is unknown. */
  observed(node: NodeConfig | undefined): void {
    if (!node) this.#hasLost = true
    else if (node.control) this.#seen.add(node.control)
  }

  /**
   * A message that requests a declared tool belongs to no known step. The first answer of a run may come from an earlier
   * process, but the second one is that of a model.
   */
  unlinked(answer: object | undefined, { control }: NodeConfig): void {
    if (this.#hasLost) this.#loop.unlinked()
    if (this.#hasLost || !answer || !control || this.#seen.has(control)) return
    const unseen = this.#unseen.get(control)
    this.#unseen.set(control, answer)
    if (!unseen || unseen === answer) return
    if (this.#hasBound) this.#loop.unlinked()
    else this.#loop.warnOnce('model-replaced', MODEL_REPLACED)
  }
}

const MODEL_REPLACED =
  'no tool starts early: the agent does not use the model that eager() has returned. Another model or a `middleware` was added after eager(), or a middleware has replaced the model. Spread the options first: createAgent(eager({ ...options, model, middleware }, …))'
