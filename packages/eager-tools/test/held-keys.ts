/** Which calls work under which resource keys. */

interface Holder {
  readonly callId: string
  readonly key: string
  readonly writes: boolean
  readonly signal: AbortSignal
}

export class HeldKeys {
  /** How often a call began beside another that names its key, one of them writing; reads that were aborted aside. */
  clashes = 0
  readonly #holders = new Set<Holder>()

  /** From now on a call works under its key, until the function that this returns is called. */
  hold(holder: Holder): () => void {
    for (const { callId, key, writes, signal } of this.#holders) {
      // What a call calls works under the keys of that call.
      if (key !== holder.key || holder.callId.startsWith(`${callId}/`)) continue
      if (writes || (holder.writes && !signal.aborted)) this.clashes++
    }
    this.#holders.add(holder)
    return () => void this.#holders.delete(holder)
  }
}
