import { expect, test } from 'vitest'
import { drift } from './drift.ts'

test('the rules know the members that the types of the installed clients have (W23)', () => {
  const folder = new URL('../../../node_modules', import.meta.url).pathname
  expect(drift(folder)).toEqual([])
})
