/** Finds the state of a program: everything that may change after it was created. */

import { relative, sep } from 'node:path'
import ts from 'typescript'
import { type Changes, changesIn } from './changes.ts'

/** figures.ts defines what each of them counts. Each is a list of places: file, line and code. */
export interface Mutable {
  readonly fields: readonly string[]
  readonly members: readonly string[]
  readonly containers: readonly string[]
  readonly variables: readonly string[]
}

/** The state in these files, which must belong to the program. Places are relative to `root`. */
export function mutableOf(program: ts.Program, paths: readonly string[], root: string): Mutable {
  const checker = program.getTypeChecker()
  const files = paths.map((path) => sourceOf(program, path))
  const changes = changesIn(files, checker)
  const outliving = outlivingIn(files, checker)
  const kinds: Record<keyof Mutable, string[]> = { fields: [], members: [], containers: [], variables: [] }

  function visit(node: ts.Node): void {
    const kind = kindOf(node, changes, outliving, checker)
    if (kind) kinds[kind].push(placeOf(node, root))
    ts.forEachChild(node, visit)
  }
  for (const file of files) visit(file)
  return kinds
}

function sourceOf(program: ts.Program, path: string): ts.SourceFile {
  const file = program.getSourceFile(path)
  if (!file) throw new Error(`${path} does not belong to the program`)
  return file
}

function kindOf(
  node: ts.Node,
  { assigned, filled }: Changes,
  outliving: ReadonlySet<ts.Node>,
  checker: ts.TypeChecker,
): keyof Mutable | undefined {
  const isFilled = (): boolean => filled.has(node) && isContainer(checker.getTypeAtLocation(node), checker)
  if (ts.isPropertyDeclaration(node)) {
    if (!isReadonly(node)) return 'fields'
    return isContainer(checker.getTypeAtLocation(node), checker) ? 'containers' : undefined
  }
  if (isMember(node)) return assigned.has(node) ? 'members' : isFilled() ? 'containers' : undefined
  if (!isVariable(node) || !outliving.has(node)) return undefined
  return isLet(node) ? 'variables' : isFilled() ? 'containers' : undefined
}

/** Variables of modules, and variables that a nested function uses. */
function outlivingIn(files: readonly ts.SourceFile[], checker: ts.TypeChecker): ReadonlySet<ts.Node> {
  const outliving = new Set<ts.Node>()

  function visit(node: ts.Node): void {
    if (isVariable(node) && ts.isSourceFile(homeOf(node))) outliving.add(node)
    if (ts.isIdentifier(node)) {
      const variable = variableOf(node, checker)
      if (variable && homeOf(variable) !== homeOf(node)) outliving.add(variable)
    }
    ts.forEachChild(node, visit)
  }
  for (const file of files) visit(file)
  return outliving
}

function variableOf(name: ts.Identifier, checker: ts.TypeChecker): ts.Node | undefined {
  const symbol = ts.isShorthandPropertyAssignment(name.parent)
    ? checker.getShorthandAssignmentValueSymbol(name.parent)
    : checker.getSymbolAtLocation(name)
  return symbol?.valueDeclaration && isVariable(symbol.valueDeclaration) ? symbol.valueDeclaration : undefined
}

/** The code that runs together with the node: the surrounding function, the initializer of a field, or the module. */
function homeOf(node: ts.Node): ts.Node {
  let home = node.parent
  while (!(ts.isFunctionLike(home) || ts.isPropertyDeclaration(home) || ts.isSourceFile(home))) home = home.parent
  return home
}

/** A name that `let`, `const` or `var` declares, also as part of a pattern. */
function isVariable(node: ts.Node): node is ts.VariableDeclaration | ts.BindingElement {
  if (!ts.isVariableDeclaration(node) && !ts.isBindingElement(node)) return false
  return ts.isIdentifier(node.name) && ts.isVariableDeclarationList(listOf(node))
}

function isLet(variable: ts.VariableDeclaration | ts.BindingElement): boolean {
  const kind = listOf(variable).flags & ts.NodeFlags.BlockScoped
  return kind === ts.NodeFlags.Let || kind === ts.NodeFlags.None
}

/** The parent of a declaration, or of the pattern that contains it. */
function listOf(node: ts.Node): ts.Node {
  const around = node.parent
  return ts.isBindingElement(around) || ts.isObjectBindingPattern(around) || ts.isArrayBindingPattern(around)
    ? listOf(around)
    : ts.isVariableDeclaration(around)
      ? around.parent
      : around
}

const isMember = (node: ts.Node): boolean =>
  ts.isPropertySignature(node) ||
  ts.isMethodSignature(node) ||
  ts.isPropertyAssignment(node) ||
  ts.isShorthandPropertyAssignment(node) ||
  (ts.isMethodDeclaration(node) && ts.isObjectLiteralExpression(node.parent))

function isReadonly(field: ts.PropertyDeclaration): boolean {
  return ts.getModifiers(field)?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword) ?? false
}

/** A type whose elements may be set. A `ReadonlyMap` or a `readonly` array is not a container. */
function isContainer(type: ts.Type, checker: ts.TypeChecker): boolean {
  if (type.isUnion()) return type.types.some((one) => isContainer(one, checker))
  if (/^(Weak)?(Map|Set)$/.test(type.getSymbol()?.name ?? '')) return true
  return checker.getIndexInfosOfType(type).some(({ isReadonly }) => !isReadonly)
}

function placeOf(node: ts.Node, root: string): string {
  const file = node.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(node.getStart())
  const [code = ''] = node.getText().split('\n')
  return `${relative(root, file.fileName).replaceAll(sep, '/')}:${line + 1}: ${code}`
}
