import { expect, test } from 'vitest'
import { codeIn } from './code.ts'

test('a line counts if it has code, also inside a text; blank lines and lines of comments do not', () => {
  const text = `/** What it is. */

import { a } from './a.ts' // why
// a comment
export const b = \`
text // of a template
\`
/* a */ export function c(): void {}
`
  expect(codeIn(text).lines).toBe(5)
})

test('an export without a docstring is found; imports, other declarations and documented exports are not', () => {
  const text = `import { a } from './a.ts'
/** Documented. */
export const b = a
const c = b
// A comment is no docstring.
export function d(): void {
  c()
}
export { c }
`
  expect(codeIn(text).bare).toEqual(['export function d(): void {'])
})
