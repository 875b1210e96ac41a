package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.List;

/**
 * The parser of expressions, with Jinja2's precedence of operators: or, and, not, comparisons, + -, ~, * / // %, **,
 * sign, filters.
 */
class ExpressionParser {
  final TokenStream in;
  final UnknownOperations unknown = new UnknownOperations();
  final OperandParser operands;
  final FilterParser filters;

  ExpressionParser(TokenStream in) {
    this.in = in;
    this.operands = new OperandParser(in, this::expression);
    this.filters = new FilterParser(in, operands, unknown);
  }

  Expr expression() {
    in.enter();
    TemplateException.Syntax before = unknown.first();
    Expr value = or();
    for (int chain = 1; in.skipName("if"); chain++) {
      in.checkChain(chain);
      unknown.enterBranch();
      Expr condition = or();
      value = new Expr.Condition(condition, value, in.skipName("else") ? expression() : null);
      unknown.leaveBranch();
      unknown.restore(before);
    }
    in.leave();
    return value;
  }

  /** One expression, or several with commas, which are a tuple; with inline ifs only if {@code conditions}. */
  Expr tuple(boolean conditions) {
    return operands.tuple(conditions ? this::expression : this::or, false);
  }

  private Expr or() {
    Expr left = and();
    for (int chain = 1; in.skipName("or"); chain++) {
      in.checkChain(chain);
      left = new Expr.Logic(false, left, and());
    }
    return left;
  }

  private Expr and() {
    Expr left = not();
    for (int chain = 1; in.skipName("and"); chain++) {
      in.checkChain(chain);
      left = new Expr.Logic(true, left, not());
    }
    return left;
  }

  private Expr not() {
    if (!in.peek().isName("not")) {
      return compare();
    }
    in.next();
    in.enter();
    Expr negated = new Expr.Not(not());
    in.leave();
    return negated;
  }

  private Expr compare() {
    Expr first = sum();
    List<String> operators = new ArrayList<>();
    List<Expr> rest = new ArrayList<>();
    while (true) {
      Token token = in.peek();
      if (token.type() == Token.Type.OPERATOR && isComparison(token.text())) {
        operators.add(in.next().text());
      } else if (in.skipName("in")) {
        operators.add("in");
      } else if (token.isName("not") && in.peekNext().isName("in")) {
        in.next();
        in.next();
        operators.add("not in");
      } else {
        return operators.isEmpty() ? first : new Expr.Compare(first, operators, rest);
      }
      rest.add(sum());
    }
  }

  private static boolean isComparison(String operator) {
    return switch (operator) {
      case "==", "!=", "<", "<=", ">", ">=" -> true;
      default -> false;
    };
  }

  private Expr sum() {
    Expr left = concat();
    for (int chain = 1; in.peek().is("+") || in.peek().is("-"); chain++) {
      in.checkChain(chain);
      String operator = in.next().text();
      left = new Expr.Arithmetic(operator, left, concat());
    }
    return left;
  }

  private Expr concat() {
    Expr first = product();
    if (!in.peek().is("~")) {
      return first;
    }
    List<Expr> parts = new ArrayList<>(List.of(first));
    while (in.skip("~")) {
      parts.add(product());
    }
    return new Expr.Concat(parts);
  }

  private Expr product() {
    Expr left = power();
    for (int chain = 1; in.peek().is("*") || in.peek().is("/") || in.peek().is("//") || in.peek().is("%"); chain++) {
      in.checkChain(chain);
      String operator = in.next().text();
      left = new Expr.Arithmetic(operator, left, power());
    }
    return left;
  }

  private Expr power() {
    Expr left = unary(true);
    for (int chain = 1; in.skip("**"); chain++) {
      in.checkChain(chain);
      left = new Expr.Arithmetic("**", left, unary(true));
    }
    return left;
  }

  private Expr unary(boolean filtered) {
    in.enter();
    Expr value;
    if (in.peek().is("-") || in.peek().is("+")) {
      value = new Expr.Sign(in.next().text().equals("-"), unary(false));
    } else {
      value = operands.operand();
    }
    value = filtered ? filters.applied(value) : value;
    in.leave();
    return value;
  }
}
