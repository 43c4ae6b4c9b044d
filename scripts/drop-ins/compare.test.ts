import { expect, test } from 'vitest'
import type { Checkout } from './checkout.ts'
import { compared, type Outcome, type Outcomes } from './compare.ts'
import { LIBRARIES } from './libraries.ts'
import { reportOf } from './report.ts'
import { outcomesIn } from './run-tests.ts'

const outcomes = (tests: Readonly<Record<string, string | true>>, uses = 0): Outcomes => ({
  tests: new Map(
    Object.entries(tests).map(([test, made]): [string, Outcome] => [
      test,
      made === true ? { passed: true } : { passed: false, reason: made },
    ]),
  ),
  uses,
  warnings: uses > 0 ? ['nobody asked'] : [],
})

const comparison = compared(
  outcomes({ 'a: holds': true, 'a: fails anyway': 'no', 'a: breaks': true, 'a: is late': true, 'b: is gone': true }),
  outcomes({ 'a: holds': true, 'a: fails anyway': 'no', 'a: breaks': 'expected 1', 'a: is late': 'too late' }, 5),
  [{ test: 'is late', reason: 'It asks for the order.' }],
)

test('a test that passes without the drop-in and fails with it is forbidden, unless the list allows it', () => {
  expect(comparison).toEqual({
    ran: 5,
    passed: 4,
    stillPass: 1,
    uses: 5,
    warnings: ['nobody asked'],
    allowed: [{ test: 'a: is late', reason: 'It asks for the order.' }],
    forbidden: [
      { test: 'a: breaks', reason: 'expected 1' },
      { test: 'b: is gone', reason: 'it did not run' },
    ],
  })
})

test('the report shows which tests ran, which passed, and which fail only with the drop-in', () => {
  const [library] = LIBRARIES
  if (!library) throw new Error('no library')
  const checkout: Checkout = {
    library: { ...library, files: ['a', 'b', 'c'] },
    version: '7.0.1',
    pinned: '7.0.173',
    folder: '/ai/packages/ai',
    vitest: '/ai/node_modules/vitest/vitest.mjs',
    files: ['a', 'b'],
    missing: ['c'],
    dropIn: '/ours/ai-sdk.ts',
    ours: {},
  }
  expect(reportOf(checkout, comparison, 'eager')).toBe(`vercel/ai: ai 7.0.1 (the drop-in is tested with 7.0.173)
  2 of 3 test files; not in this checkout: c
  unchanged: 4 of 5 tests pass
  with eager(): 1 of these 4 pass; 5 calls started early
  1 warnings of eager():
    nobody asked
  1 fail only with eager(), and are allowed to:
    a: is late
      It asks for the order.
  2 fail only with eager():
    a: breaks
      expected 1
    b: is gone
      it did not run`)
})

test('tests are identified by file and name, and by number if a name is repeated; skipped ones do not count', () => {
  const test = (fullName: string, status: string, ...failureMessages: string[]) => ({
    fullName,
    status,
    failureMessages,
  })
  const json = JSON.stringify({
    testResults: [
      { name: '/ai/a.test.ts', assertionResults: [test('holds', 'passed'), test('holds', 'failed', 'no\nat line 1')] },
      { name: '/ai/b.test.ts', assertionResults: [test('holds', 'passed'), test('later', 'skipped')] },
    ],
  })
  expect([...outcomesIn(json, '/ai')]).toEqual([
    ['a.test.ts: holds', { passed: true }],
    ['a.test.ts: holds (2)', { passed: false, reason: 'no' }],
    ['b.test.ts: holds', { passed: true }],
  ])
})
