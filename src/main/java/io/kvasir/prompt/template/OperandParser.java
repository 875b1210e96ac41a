package io.kvasir.prompt.template;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The parser of what operators stand between: literals, names and brackets, with the attributes, subscripts and calls
 * that follow them.
 */
final class OperandParser {
  private final TokenStream in;
  /** Reads a whole expression, as there is one in every bracket. */
  private final Supplier<Expr> expression;
  /** {@code caller}, {@code varargs} and {@code kwargs}, where the macro being read uses them. */
  private Set<String> specials = new HashSet<>();

  OperandParser(TokenStream in, Supplier<Expr> expression) {
    this.in = in;
    this.expression = expression;
  }

  /** Begins a macro: notes its special names apart. The result goes to {@link #endSpecials}. */
  Set<String> beginSpecials() {
    Set<String> outer = specials;
    specials = new HashSet<>();
    return outer;
  }

  List<String> endSpecials(Set<String> outer) {
    List<String> used = List.copyOf(specials);
    outer.addAll(used);
    specials = outer;
    return used;
  }

  Expr operand() {
    return postfix(primary());
  }

  private Expr primary() {
    Token token = in.next();
    return switch (token.type()) {
      case NAME -> switch (token.text()) {
        case "true", "True" -> new Expr.Const(true);
        case "false", "False" -> new Expr.Const(false);
        case "none", "None" -> new Expr.Const(null);
        case "caller", "varargs", "kwargs" -> {
          specials.add(token.text());
          yield new Expr.Name(token.text());
        }
        default -> new Expr.Name(token.text());
      };
      case STRING -> {
        StringBuilder text = new StringBuilder(token.text());
        while (in.peek().type() == Token.Type.STRING) {
          text.append(in.next().text());
        }
        yield new Expr.Const(text.toString());
      }
      case INTEGER -> new Expr.Const(Numbers.normal(new BigInteger(token.text())));
      case FLOAT -> new Expr.Const(Double.valueOf(token.text()));
      case OPERATOR -> bracketed(token);
      default -> throw expectedExpression();
    };
  }

  private TemplateException.Syntax expectedExpression() {
    in.back();
    return in.unexpected("an expression");
  }

  private Expr bracketed(Token open) {
    return switch (open.text()) {
      case "(" -> {
        Expr value = tuple(expression, true);
        in.expect(")");
        yield value;
      }
      case "[" -> {
        List<Expr> elements = new ArrayList<>();
        while (!in.peek().is("]")) {
          elements.add(expression.get());
          if (!in.peek().is("]")) {
            in.expect(",");
          }
        }
        in.next();
        yield new Expr.Sequence(elements, false);
      }
      case "{" -> {
        List<Expr> keys = new ArrayList<>();
        List<Expr> values = new ArrayList<>();
        while (!in.peek().is("}")) {
          keys.add(expression.get());
          in.expect(":");
          values.add(expression.get());
          if (!in.peek().is("}")) {
            in.expect(",");
          }
        }
        in.next();
        yield new Expr.Dict(keys, values);
      }
      default -> throw expectedExpression();
    };
  }

  /** One element, or several with commas, which are a tuple; in parentheses there may be none. */
  Expr tuple(Supplier<Expr> element, boolean parentheses) {
    List<Expr> elements = new ArrayList<>();
    boolean isTuple = false;
    while (!endsTuple()) {
      elements.add(element.get());
      if (!in.skip(",")) {
        break;
      }
      isTuple = true;
    }
    if (!isTuple && !elements.isEmpty()) {
      return elements.getFirst();
    }
    if (elements.isEmpty() && !parentheses) {
      throw in.unexpected("an expression");
    }
    return new Expr.Sequence(elements, true);
  }

  private boolean endsTuple() {
    Token token = in.peek();
    return token.type() == Token.Type.VARIABLE_END || token.type() == Token.Type.BLOCK_END || token.is(")")
        || token.isName("recursive");
  }

  private Expr postfix(Expr operand) {
    Expr value = operand;
    for (int chain = 1; ; chain++) {
      in.checkChain(chain);
      if (in.skip(".")) {
        value = member(value);
      } else if (in.skip("[")) {
        value = subscript(value);
      } else if (in.peek().is("(")) {
        value = new Expr.Call(value, callArguments());
      } else {
        return value;
      }
    }
  }

  private Expr member(Expr value) {
    Token token = in.next();
    return switch (token.type()) {
      case NAME -> new Expr.Attribute(value, token.text());
      case INTEGER -> new Expr.Item(value, new Expr.Const(Numbers.normal(new BigInteger(token.text()))));
      default -> {
        in.back();
        throw in.unexpected("a name after '.'");
      }
    };
  }

  private Expr subscript(Expr value) {
    if (in.peek().is("]")) {
      throw in.unexpected("an index");
    }
    Expr start = in.peek().is(":") ? null : expression.get();
    if (start != null && !in.peek().is(":")) {
      List<Expr> parts = new ArrayList<>(List.of(start));
      boolean isTuple = false;
      while (in.skip(",")) {
        isTuple = true;
        if (!in.peek().is("]")) {
          parts.add(expression.get());
        }
      }
      in.expect("]");
      return new Expr.Item(value, isTuple ? new Expr.Sequence(parts, true) : start);
    }
    in.expect(":");
    Expr stop = in.peek().is(":") || in.peek().is("]") ? null : expression.get();
    Expr step = in.skip(":") && !in.peek().is("]") ? expression.get() : null;
    in.expect("]");
    return new Expr.Slice(value, start, stop, step);
  }

  Expr.CallArguments callArguments() {
    in.expect("(");
    List<Expr> positional = new ArrayList<>();
    List<String> names = new ArrayList<>();
    List<Expr> named = new ArrayList<>();
    Expr star = null;
    Expr starStar = null;
    while (!in.peek().is(")")) {
      if (in.skip("*")) {
        if (star != null || starStar != null) {
          throw in.error("only one *argument, before any **argument, is allowed");
        }
        star = expression.get();
      } else if (in.skip("**")) {
        if (starStar != null) {
          throw in.error("only one **argument is allowed");
        }
        starStar = expression.get();
      } else if (in.peek().type() == Token.Type.NAME && in.peekNext().is("=")) {
        if (starStar != null) {
          throw in.error("an argument follows **argument");
        }
        names.add(in.next().text());
        in.next();
        named.add(expression.get());
      } else {
        if (!names.isEmpty() || star != null || starStar != null) {
          throw in.error("a positional argument follows a keyword argument");
        }
        positional.add(expression.get());
      }
      if (!in.peek().is(")")) {
        in.expect(",");
      }
    }
    in.next();
    return new Expr.CallArguments(positional, names, named, star, starStar);
  }
}
