/** What is counted in the text of one file. */

import ts from 'typescript'

export interface Code {
  /** Lines that are neither blank nor only a comment. */
  readonly lines: number
  /** The exports that it declares without a docstring, by their first lines. */
  readonly bare: readonly string[]
}

export function codeIn(text: string): Code {
  const file = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true)
  const lines = new Set<number>()
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line

  function visit(node: ts.Node): void {
    if (ts.isJSDoc(node)) return
    const inner = node.getChildren(file)
    if (inner.length === 0 && node.getWidth(file) > 0)
      for (let line = lineAt(node.getStart(file)); line <= lineAt(node.end); line++) lines.add(line)
    for (const one of inner) visit(one)
  }
  visit(file)
  const bare = file.statements.flatMap((one) => (isBare(one) ? [one.getText(file).split('\n')[0] ?? ''] : []))
  return { lines: lines.size, bare }
}

function isBare(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined
  const isExport = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
  return isExport && ts.getJSDocCommentsAndTags(statement).length === 0
}
