/** Records which calls run with which resource keys. */

interface Holder {
  readonly callId: string
  readonly key: string
  readonly writes: boolean
  readonly signal: AbortSignal
}

export class HeldKeys {
  /**
   * How often a call began while another call with the same key was running and one of them writes; aborted reads do
   * not count.
   */
  clashes = 0
  readonly #holders = new Set<Holder>()

  /** The call runs with its key from now on, until the returned function is called. */
  hold(holder: Holder): () => void {
    for (const { callId, key, writes, signal } of this.#holders) {
      // Inner calls run with the keys of the call that makes them.
      if (key !== holder.key || holder.callId.startsWith(`${callId}/`)) continue
      if (writes || (holder.writes && !signal.aborted)) this.clashes++
    }
    this.#holders.add(holder)
    return () => void this.#holders.delete(holder)
  }
}
