/**
 * After each file: none of its intervals goes on. Files run one after another in the same process, where an interval of one would act in the
 * tests of the next ones, and set timers on their fake clocks.
 */

import { beforeAll } from 'vitest'

beforeAll(() => {
  const { setInterval, clearInterval } = globalThis
  const left = new Map<unknown, string | undefined>()
  const noted = (...given: Parameters<typeof setInterval>) => {
    const timer = setInterval(...given)
    left.set(timer, new Error('set here').stack)
    return timer
  }
  const cleared: typeof clearInterval = (timer) => {
    left.delete(timer)
    clearInterval(timer)
  }
  Object.assign(globalThis, { setInterval: noted, clearInterval: cleared })
  return () => {
    Object.assign(globalThis, { setInterval, clearInterval })
    if (left.size > 0) throw new Error(['intervals of this file go on', ...left.values()].join('\n  '))
  }
})
