/** Stops early starts of tools that waste more time than they save, for a while. */

import { ConfigError, checkOptions } from '@meanwhile/core'

export interface EagerBudget {
  /** How many milliseconds more a tool may have wasted than saved. Default 1,000; at least 0. */
  readonly toleranceMs?: number
  /** The half-life of what a tool has saved and wasted, in milliseconds. Default 300,000 (five minutes). */
  readonly halfLifeMs?: number
}

/** Time saved minus time wasted, at the given time. */
interface Balance {
  readonly ms: number
  readonly at: number
}

/** The maximum number of tools. Beyond it, the one that was not updated for the longest time is forgotten. */
const MOST_TOOLS = 1_000

/** Shared by all runs and agents that use one `eagerTools()`. Tools are identified by name. */
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

  /** Whether a tool has wasted so much more than it has saved that its calls do not start early. */
  isSpent(tool: string): boolean {
    return -this.#balanceOf(tool) > this.#tolerance
  }

  /** Adds the milliseconds that a call has saved; a negative number is wasted time. */
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
