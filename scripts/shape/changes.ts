/** Finds what the statements of a program change. */

import ts from 'typescript'

/** By declaration. */
export interface Changes {
  /** Declarations that some statement assigns or deletes. */
  readonly assigned: ReadonlySet<ts.Node>
  /** Declarations whose elements some statement adds or removes. */
  readonly filled: ReadonlySet<ts.Node>
}

/** The methods of arrays, maps and sets that change them. */
const CHANGING =
  /^(add|clear|copyWithin|delete|fill|pop|push|reverse|set|shift|sort|splice|unshift|getOrInsert|getOrInsertComputed)$/

/** Changes under another name are not found, for example in a function that receives an array. */
export function changesIn(files: readonly ts.SourceFile[], checker: ts.TypeChecker): Changes {
  const assigned = new Set<ts.Node>()
  const filled = new Set<ts.Node>()

  function visit(node: ts.Node): void {
    if (isAssignment(node)) assign(node.left)
    else if (ts.isPostfixUnaryExpression(node)) assign(node.operand)
    else if (ts.isPrefixUnaryExpression(node) && isStep(node.operator)) assign(node.operand)
    else if (ts.isDeleteExpression(node)) assign(node.expression)
    else if (ts.isForInStatement(node) || ts.isForOfStatement(node)) {
      if (!ts.isVariableDeclarationList(node.initializer)) assign(node.initializer)
    } else if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) call(node, node.expression)
    ts.forEachChild(node, visit)
  }

  function assign(target: ts.Expression): void {
    const to = bare(target)
    if (ts.isPropertyAccessExpression(to)) {
      for (const declaration of declarationsOf(to)) assigned.add(declaration)
      // An unknown member is an element: the `length` of an array, a name of a record.
      fill(to.expression)
    } else if (ts.isElementAccessExpression(to)) fill(to.expression)
    else if (ts.isArrayLiteralExpression(to)) for (const element of to.elements) assign(element)
    else if (ts.isSpreadElement(to) || ts.isSpreadAssignment(to)) assign(to.expression)
    else if (isAssignment(to)) assign(to.left)
    else if (ts.isObjectLiteralExpression(to)) {
      for (const member of to.properties) {
        if (ts.isPropertyAssignment(member)) assign(member.initializer)
        else if (ts.isSpreadAssignment(member)) assign(member.expression)
      }
    }
  }

  function call({ arguments: given }: ts.CallExpression, { expression, name }: ts.PropertyAccessExpression): void {
    if (CHANGING.test(name.text)) fill(expression)
    const [target, ...sources] = given
    if (!target || name.text !== 'assign' || expression.getText() !== 'Object') return
    const members = checker.getTypeAtLocation(target)
    for (const source of sources) {
      for (const { name } of checker.getTypeAtLocation(source).getProperties()) {
        for (const declaration of members.getProperty(name)?.declarations ?? []) assigned.add(declaration)
      }
    }
    fill(target)
  }

  function fill(container: ts.Expression): void {
    for (const declaration of declarationsOf(bare(container))) {
      for (const one of membersOf(declaration)) filled.add(one)
    }
  }

  /** A name in a pattern refers to the member that it takes. */
  function membersOf(declaration: ts.Node): readonly ts.Node[] {
    if (!ts.isBindingElement(declaration) || !ts.isObjectBindingPattern(declaration.parent)) return [declaration]
    const { propertyName = declaration.name, parent } = declaration
    return checker.getTypeAtLocation(parent).getProperty(propertyName.getText())?.declarations ?? []
  }

  /** The declarations of a name, or of the member that an expression names. */
  function declarationsOf(expression: ts.Expression): readonly ts.Node[] {
    const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression
    return checker.getSymbolAtLocation(name)?.declarations ?? []
  }

  for (const file of files) visit(file)
  return { assigned, filled }
}

/** `=`, `+=`, `??=` …; in a pattern, a default. */
const isAssignment = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
  node.operatorToken.kind <= ts.SyntaxKind.LastAssignment

const isStep = (operator: ts.PrefixUnaryOperator): boolean =>
  operator === ts.SyntaxKind.PlusPlusToken || operator === ts.SyntaxKind.MinusMinusToken

/** Without parentheses and type-only syntax. */
function bare(expression: ts.Expression): ts.Expression {
  const isWrapped =
    ts.isParenthesizedExpression(expression) ||
    ts.isNonNullExpression(expression) ||
    ts.isAsExpression(expression) ||
    ts.isSatisfiesExpression(expression)
  return isWrapped ? bare(expression.expression) : expression
}
