package io.kvasir.prompt.template;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The parser of filters and tests, and of the calls among them. */
final class FilterParser {
  private final TokenStream in;
  private final OperandParser operands;
  private final UnknownOperations unknown;

  FilterParser(TokenStream in, OperandParser operands, UnknownOperations unknown) {
    this.in = in;
    this.operands = operands;
    this.unknown = unknown;
  }

  /** The operand with the filters, tests and calls that follow it. */
  Expr applied(Expr operand) {
    Expr value = operand;
    for (int chain = 1; ; chain++) {
      in.checkChain(chain);
      if (in.skip("|")) {
        value = filter(value);
      } else if (in.skipName("is")) {
        value = test(value);
      } else if (in.peek().is("(")) {
        value = new Expr.Call(value, operands.callArguments());
      } else {
        return value;
      }
    }
  }

  /** One filter, its bar already read. */
  private Expr.Filter filter(@Nullable Expr value) {
    String name = dottedName();
    Filters.Filter filter = Filters.find(name);
    if (filter == null) {
      unknown.note(in, "filter", name);
    }
    return new Expr.Filter(value, name, filter, in.peek().is("(") ? operands.callArguments() : Expr.CallArguments.NONE);
  }

  /** A chain of filters without a value: what a filter block or a set block applies. */
  Expr.Filter filterChain() {
    Expr.Filter chain = filter(null);
    for (int length = 1; in.skip("|"); length++) {
      in.checkChain(length);
      chain = filter(chain);
    }
    return chain;
  }

  private Expr test(Expr value) {
    boolean negated = in.skipName("not");
    String name = dottedName();
    Tests.Test test = Tests.find(name);
    if (test == null) {
      unknown.note(in, "test", name);
    }
    Expr.CallArguments arguments = Expr.CallArguments.NONE;
    Token token = in.peek();
    if (token.is("(")) {
      arguments = operands.callArguments();
    } else if (startsOperand(token)) {
      if (token.isName("is")) {
        throw in.error("tests cannot be chained with 'is'");
      }
      arguments = new Expr.CallArguments(List.of(operands.operand()), List.of(), List.of(), null, null);
    }
    Expr tested = new Expr.Test(value, name, test, arguments);
    return negated ? new Expr.Not(tested) : tested;
  }

  private static boolean startsOperand(Token token) {
    return switch (token.type()) {
      case NAME -> !token.isName("else") && !token.isName("or") && !token.isName("and");
      case STRING, INTEGER, FLOAT -> true;
      case OPERATOR -> token.is("[") || token.is("{");
      default -> false;
    };
  }

  private String dottedName() {
    String first = in.expectName();
    if (!in.peek().is(".")) {
      return first;
    }
    StringBuilder name = new StringBuilder(first);
    while (in.skip(".")) {
      name.append('.').append(in.expectName());
    }
    return name.toString();
  }
}
