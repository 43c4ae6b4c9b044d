/** Stops early starts of tools that waste more time than they save, for a while. */

import { ConfigError, checkOptions } from '@meanwhile/core'

/** The options of `budget`. */
export interface EagerBudget {
  /** How many milliseconds a tool may waste beyond what it has saved. Default 1,000; at least 0. */
  readonly toleranceMs?: number
  /** The time after which earlier savings and waste count half, in milliseconds. Default 300,000 (five minutes). */
  readonly halfLifeMs?: number
}

/** Time saved minus time wasted, at the given time. */
interface Balance {
  readonly ms: number
  readonly at: number
}

/** The maximum number of tools. Beyond it, the one that was not updated for the longest time is forgotten. */
const MOST_TOOLS = 1_000

/**
 * The balance of saved and wasted time of each tool, by name. All runs and agents that use one `eagerTools()` share it.
 */
export class Budget {
  readonly #tolerance: number
  readonly #halfLife: number
  readonly #balances: Map<string, Balance> = new Map()

  constructor(options: EagerBudget) {
    checkOptions('budget', options, { toleranceMs: '', halfLifeMs: '' }, 'budget.')
    const { toleranceMs = 1_000, halfLifeMs = 300_000 } = options
    if (!(Number.isFinite(toleranceMs) && toleranceMs >= 0))
      throw new ConfigError('budget.toleranceMs', 'must be a number, at least 0')
    if (!(Number.isFinite(halfLifeMs) && halfLifeMs > 0))
      throw new ConfigError('budget.halfLifeMs', 'must be a number greater than 0')
    this.#tolerance = toleranceMs
    this.#halfLife = halfLifeMs
  }

  /** Whether the calls of a tool do not start early, because it has wasted too much. */
  isSpent(tool: string): boolean {
    return -this.#balanceOf(tool) > this.#tolerance
  }

  /** Adds the milliseconds that a call has saved; a negative number is time that it has wasted. */
  add(tool: string, ms: number): void {
    const balance = { ms: this.#balanceOf(tool) + ms, at: performance.now() }
    this.#balances.delete(tool)
    this.#balances.set(tool, balance)
    const [oldest] = this.#balances.keys()
    if (this.#balances.size > MOST_TOOLS && oldest !== undefined) this.#balances.delete(oldest)
  }

  #balanceOf(tool: string): number {
    const { ms, at } = this.#balances.get(tool) ?? { ms: 0, at: 0 }
    return ms * 2 ** ((at - performance.now()) / this.#halfLife)
  }
}
