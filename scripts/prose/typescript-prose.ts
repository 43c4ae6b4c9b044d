/** A textlint plugin that finds the prose in TypeScript: comments, docstrings, messages, and the titles of tests. */

import ts from 'typescript'

/** Where a piece of prose stands in its file. */
interface Piece {
  readonly kind: 'comment' | 'docstring' | 'string'
  readonly start: number
  readonly end: number
}

export class TypeScriptProse {
  availableExtensions(): string[] {
    return ['.ts', '.tsx', '.mjs']
  }

  processor() {
    return {
      preProcess: (source: string, path = 'source.ts') => proseTree(source, path),
      postProcess: <Message>(messages: Message[], filePath = 'source.ts') => ({ messages, filePath }),
    }
  }
}

/** The syntax tree that textlint needs: one paragraph for each piece of prose, and a text in which only the prose is readable. */
function proseTree(source: string, path: string) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest)
  const literals = literalsOf(file, /\.test(-d)?\.tsx?$/.test(path))
  const comments = commentsOf(source, literals)
  const strings = literals
    .filter(({ isProse }) => isProse)
    .map(({ start, end }) => ({ kind: 'string', start, end }) as const)
  const pieces = [...comments, ...outermost(strings)].sort((a, b) => a.start - b.start)
  const text = wordsOnly(source, [...comments, ...strings])

  const node = <Type extends string>(type: Type, start: number, end: number) => ({
    type,
    raw: text.slice(start, end),
    range: [start, end] as const,
    loc: { start: position(file, start), end: position(file, end) },
  })
  const children = pieces.map(({ kind, start, end }) => ({
    ...node('Paragraph', start, end),
    kind,
    children: [{ ...node('Str', start, end), value: text.slice(start, end) }],
  }))
  return { text, ast: { ...node('Document', 0, source.length), children } }
}

function position(file: ts.SourceFile, index: number) {
  const { line, character } = file.getLineAndCharacterOfPosition(index)
  return { line: line + 1, column: character }
}

interface Literal {
  readonly start: number
  readonly end: number
  readonly isProse: boolean
}

/** Every string, template, regular expression and text of JSX. In a test only titles are prose. */
function literalsOf(file: ts.SourceFile, isTest: boolean): readonly Literal[] {
  const found: Literal[] = []
  const add = (node: ts.Node, isProse: boolean): void => {
    const [start, end] = [node.getStart(file), node.end]
    found.push({ start, end, isProse: isProse && /\p{L}{2}[,;:]?\s+\p{L}/u.test(file.text.slice(start, end)) })
  }
  const visit = (node: ts.Node, isTitle: boolean): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) add(node, isTitle || !isTest)
    if (ts.isJsxText(node)) add(node, true)
    if (ts.isRegularExpressionLiteral(node)) add(node, false)
    const title = isTest && ts.isCallExpression(node) && isTestFunction(node.expression) ? node.arguments[0] : undefined
    ts.forEachChild(node, (child) => visit(child, child === title))
  }
  visit(file, false)
  return found
}

/** `test`, `test.each(rows)`, `describe.skipIf(…)` and the like. */
function isTestFunction(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return /^(test|it|describe)$/.test(node.text)
  return (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) && isTestFunction(node.expression)
}

/** Comments that follow each other line by line are one piece. */
function commentsOf(source: string, literals: readonly Literal[]): readonly Piece[] {
  const code = source.split('')
  for (const { start, end } of literals) code.fill(' ', start, end)
  return [...code.join('').matchAll(/\/\*.*?\*\/|(?:\/\/[^\n]*(?:\n[ \t]*(?=\/\/))?)+/gs)].map(
    ({ 0: text, index }) => ({
      kind: text.startsWith('/**') ? 'docstring' : 'comment',
      start: index,
      end: index + text.length,
    }),
  )
}

const outermost = (pieces: readonly Piece[]): readonly Piece[] =>
  pieces.filter((piece) => !pieces.some(({ start, end }) => start < piece.start && piece.end < end))

/** The source with an `X` in place of each character of code, and a space in place of what marks a comment or a string. */
function wordsOnly(source: string, pieces: readonly Piece[]): string {
  let text = source.replaceAll(/[^\n]/g, 'X')
  for (const { kind, start, end } of pieces) {
    const words = kind === 'string' ? ofString(source.slice(start, end)) : ofComment(source.slice(start, end))
    text = text.slice(0, start) + words + text.slice(end)
  }
  return text
}

const blank = (marks: string): string => marks.replaceAll(/[^\n]/g, ' ')
const hidden = (code: string): string => code.replaceAll(/\S/g, 'X')

const ofComment = (comment: string): string =>
  comment.replaceAll(/^\/\*+|\*\/$|^[ \t]*(?:\*|\/\/+)|^\/\/+/gm, blank).replaceAll(CODE, hidden)

const ofString = (string: string): string =>
  string
    .replaceAll(/^['"`]|['"`]$|\\./g, blank)
    .replaceAll(CODE, hidden)
    .replaceAll(/\$\{[^{}]*\}/g, hidden)

const CODE = /```.*?```|`[^`]{1,200}`|\{@\w+ [^}]*\}/gs
