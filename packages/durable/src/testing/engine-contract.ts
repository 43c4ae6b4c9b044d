/** The requirements on an engine, as test cases. */

import type { Engine, EngineCall, EngineWorker } from '../engine.ts'

/** An engine for one case of the contract. */
export interface EngineUnderTest {
  /** The engine. */
  readonly engine: Engine
  /** The same engine, as another process has it. Default: `engine`. */
  readonly elsewhere?: Engine
  /** Makes the engine believe that the process of `engine` has died, so that it gives its calls to others. Without it this case is skipped. */
  readonly lose?: () => Promise<void>
  /** `false`: the engine ignores priorities. */
  readonly hasPriorities?: boolean
  /** Called at the end of the case. */
  readonly close?: () => Promise<void> | void
}

/** A case of the contract of engines. */
export interface EngineCase {
  /** The title of the case, a sentence. */
  readonly name: string
  /** Rejects if the engine does not meet the requirement. */
  run(): Promise<void>
}

/**
 * The contract of {@link Engine}: `for (const { name, run } of engineContract(open)) test(name, run)`. Each case opens an engine and closes
 * it. A case takes as long as the engine needs to notice changes: allow a minute for engines with polling and heartbeats.
 */
export function engineContract(open: () => EngineUnderTest | Promise<EngineUnderTest>): readonly EngineCase[] {
  return cases.map(([name, check]) => ({
    name,
    async run() {
      const opened = await open()
      const workers: EngineWorker[] = []
      const trial = new Trial(opened, workers)
      try {
        await opened.engine.setUp?.()
        await opened.elsewhere?.setUp?.()
        await check(trial)
      } finally {
        trial.endAll()
        await Promise.all(workers.map((worker) => worker.stop()))
        await opened.close?.()
      }
    },
  }))
}

/** An engine does not meet its contract. */
class EngineContractError extends Error {
  override readonly name = 'EngineContractError'
}

/** How long a case waits for something that must happen, in milliseconds. */
const TIMEOUT = 45_000

interface Call extends EngineCall {
  readonly id: string
  readonly worker: number
  end(error?: Error): void
}

class Trial {
  readonly engine: Engine
  readonly elsewhere: Engine
  readonly lose: (() => Promise<void>) | undefined
  readonly hasPriorities: boolean
  readonly calls: Call[] = []
  /** The ids of running calls. */
  readonly running: string[] = []
  readonly #workers: EngineWorker[]
  #isOver = false

  constructor({ engine, elsewhere = engine, lose, hasPriorities = true }: EngineUnderTest, workers: EngineWorker[]) {
    this.hasPriorities = hasPriorities
    this.engine = engine
    this.elsewhere = elsewhere
    this.lose = lose
    this.#workers = workers
  }

  /** A worker whose calls run until the test ends them. */
  async startWorker(engine: Engine, concurrency: number): Promise<EngineWorker> {
    const number = this.#workers.length
    const worker = await engine.work(
      async (id, call) => {
        if (this.#isOver) return
        this.running.push(id)
        try {
          await new Promise<void>((resolve, reject) => {
            const end = (error?: Error) => (error ? reject(error) : resolve())
            this.calls.push({ ...call, id, worker: number, end })
            call.signal.addEventListener('abort', () => reject(call.signal.reason))
          })
        } finally {
          this.running.splice(this.running.indexOf(id), 1)
        }
      },
      { concurrency },
    )
    this.#workers.push(worker)
    return worker
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = Date.now() + TIMEOUT
    while (!holds()) {
      if (Date.now() > end) throw new EngineContractError(`${what}: this did not happen within ${TIMEOUT} ms`)
      await pause(5)
    }
  }

  /** Ends all calls, including later ones. */
  endAll(): void {
    this.#isOver = true
    for (const call of this.calls) call.end()
  }

  /** Ends all running calls and later ones, for a while. */
  async drain(ms: number): Promise<void> {
    for (const end = Date.now() + ms; Date.now() < end; await pause(10)) for (const call of this.calls) call.end()
  }

  of(id: string): readonly Call[] {
    return this.calls.filter((call) => call.id === id)
  }
}

const cases: readonly (readonly [string, (trial: Trial) => Promise<void>])[] = [
  [
    'a wake becomes a call in some worker, whether the worker starts before or after it',
    async (trial) => {
      await trial.elsewhere.wake('early')
      await trial.startWorker(trial.engine, 2)
      await trial.until('a call for a wake before a worker started', () => trial.of('early').length === 1)
      await trial.elsewhere.wake('late')
      await trial.until('a call for a wake after a worker started', () => trial.of('late').length === 1)
      await trial.drain(50)
    },
  ],
  [
    'a wake during a call with the same id leads to another call, after that one',
    async (trial) => {
      await trial.startWorker(trial.engine, 2)
      await trial.startWorker(trial.elsewhere, 2)
      await trial.engine.wake('run')
      await trial.until('the first call', () => trial.calls.length === 1)
      await trial.elsewhere.wake('run')
      await pause(1_000)
      assertEqual(trial.running, ['run'], 'the running calls')
      trial.calls[0]?.end()
      await trial.until('the second call', () => trial.calls.length === 2)
      await trial.drain(50)
    },
  ],
  [
    'waking a run that is running does not block other runs',
    async (trial) => {
      await trial.startWorker(trial.engine, 3)
      await trial.engine.wake('busy')
      await trial.until('the call of the busy run', () => trial.of('busy').length === 1)
      await trial.engine.wake('busy')
      await trial.engine.wake('other')
      await trial.until('the call of the other run', () => trial.of('other').length === 1)
      assertEqual(trial.of('busy').length, 1, 'the calls of the busy run')
      await trial.drain(300)
    },
  ],
  [
    'many wakes of one id are never two calls at once',
    async (trial) => {
      await trial.startWorker(trial.engine, 4)
      await trial.startWorker(trial.elsewhere, 4)
      let most = 0
      let isOver = false
      const waking = (async () => {
        for (let wake = 0; wake < 20; wake++) await (wake % 2 ? trial.engine : trial.elsewhere).wake('run')
        isOver = true
      })()
      for (const end = Date.now() + 3_000; !isOver || Date.now() < end; await pause(5)) {
        most = Math.max(most, trial.running.length)
        trial.calls.at(-1)?.end()
      }
      await waking
      assertEqual(most, 1, 'the largest number of calls at once')
      await trial.drain(500)
    },
  ],
  [
    'a call that rejects is made again',
    async (trial) => {
      await trial.startWorker(trial.engine, 1)
      await trial.engine.wake('run')
      for (const index of [0, 1, 2]) {
        await trial.until(`call ${index}`, () => trial.calls.length === index + 1)
        trial.calls[index]?.end(index < 2 ? new Error('another call') : undefined)
      }
    },
  ],
  [
    'a worker never runs more calls at once than its concurrency',
    async (trial) => {
      await trial.startWorker(trial.engine, 2)
      for (const id of ['a', 'b', 'c', 'd']) await trial.engine.wake(id)
      await trial.until('two calls', () => trial.running.length === 2)
      await pause(1_000)
      assertEqual(trial.running.length, 2, 'the number of running calls')
      for (const done of [0, 1, 2, 3]) {
        await trial.until('the next call', () => trial.calls.length > done)
        trial.calls[done]?.end()
      }
    },
  ],
  [
    'a wake with a delay becomes a call after the delay',
    async (trial) => {
      await trial.startWorker(trial.engine, 2)
      const begun = Date.now()
      await trial.engine.wake('run', { delay: 2_000 })
      await trial.until('the call', () => trial.calls.length === 1)
      // Two clocks may differ a little.
      if (Date.now() - begun < 1_500) throw new EngineContractError(`the call came after ${Date.now() - begun} ms`)
      await trial.drain(50)
    },
  ],
  [
    'the waiting wake with the greatest priority is taken first',
    async (trial) => {
      if (!trial.hasPriorities) return
      await trial.engine.wake('plain')
      await trial.engine.wake('urgent', { priority: 5 })
      await trial.startWorker(trial.engine, 1)
      await trial.until('a call', () => trial.calls.length === 1)
      assertEqual(trial.calls[0]?.id, 'urgent', 'the first call')
      trial.calls[0]?.end()
      await trial.until('the other call', () => trial.calls.length === 2)
      await trial.drain(50)
    },
  ],
  [
    'a worker that stops takes no more wakes and waits for its calls, and another worker takes the rest',
    async (trial) => {
      const worker = await trial.startWorker(trial.engine, 1)
      await trial.engine.wake('first')
      await trial.until('the first call', () => trial.calls.length === 1)
      await trial.engine.wake('second')
      let hasStopped = false
      const stopping = worker.stop().then(() => {
        hasStopped = true
      })
      await pause(1_000)
      assertEqual([trial.calls.length, hasStopped], [1, false], 'the calls, and whether the worker has stopped')
      trial.calls[0]?.end(new Error('the worker stops'))
      await stopping
      await trial.startWorker(trial.elsewhere, 2)
      await trial.until('the calls elsewhere', () => trial.calls.length === 3)
      assertEqual(trial.calls.map(({ id }) => id).sort(), ['first', 'first', 'second'], 'all calls')
      await trial.drain(50)
    },
  ],
  [
    'a call whose process seems dead is aborted and made again by another process',
    async (trial) => {
      if (!trial.lose) return
      await trial.startWorker(trial.engine, 1)
      await trial.engine.wake('run')
      await trial.until('the call', () => trial.calls.length === 1)
      await trial.startWorker(trial.elsewhere, 1)
      await trial.lose()
      await trial.until('the call elsewhere', () => trial.calls.some(({ worker }) => worker === 1))
      await trial.until('the abort', () => trial.calls[0]?.signal.aborted === true)
      await trial.drain(100)
    },
  ],
]

function assertEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, shouldBe] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== shouldBe) throw new EngineContractError(`${what}: ${is} instead of ${shouldBe}`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
