package io.kvasir.prompt.template;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parser of expressions, with Jinja2's precedence: or, and, not, comparisons, + -, ~, * / // %, **, sign, filters.
 */
class ExpressionParser {
  /** The most operators in a row: this and the nesting limit bound the stack that evaluation needs. */
  private static final int MAX_CHAIN = 500;

  final TokenStream in;
  /** Whether the parser is inside a branch, where an unknown filter or test is an error only when it is reached. */
  private int branches;
  /** The first unknown filter or test outside of every branch, as far as is known. */
  private TemplateException.@Nullable Syntax unknown;
  /** {@code caller}, {@code varargs} and {@code kwargs}, where the macro being read uses them. */
  private Set<String> specials = new HashSet<>();

  ExpressionParser(TokenStream in) {
    this.in = in;
  }

  /**
   * Whether a value is a branch of an inline if is known only after it has been read, so an unknown filter in it is
   * reported at the end of the template.
   */
  private void noteUnknown(String kind, String name) {
    if (branches == 0 && unknown == null) {
      unknown = in.error("there is no " + kind + " named '" + name + "'");
    }
  }

  void checkKnown() {
    if (unknown != null) {
      throw unknown;
    }
  }

  void enterBranch() {
    branches++;
  }

  void leaveBranch() {
    branches--;
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

  Expr expression() {
    return condition();
  }

  private Expr condition() {
    in.enter();
    TemplateException.Syntax before = unknown;
    Expr value = or();
    for (int chain = 1; in.skipName("if"); chain++) {
      checkChain(chain);
      branches++;
      Expr condition = or();
      value = new Expr.Condition(condition, value, in.skipName("else") ? condition() : null);
      branches--;
      unknown = before;
    }
    in.leave();
    return value;
  }

  private void checkChain(int length) {
    if (length > MAX_CHAIN) {
      throw in.error("more than " + MAX_CHAIN + " operators in a row");
    }
  }

  Expr or() {
    Expr left = and();
    for (int chain = 1; in.skipName("or"); chain++) {
      checkChain(chain);
      left = new Expr.Logic(false, left, and());
    }
    return left;
  }

  private Expr and() {
    Expr left = not();
    for (int chain = 1; in.skipName("and"); chain++) {
      checkChain(chain);
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
      checkChain(chain);
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
      checkChain(chain);
      String operator = in.next().text();
      left = new Expr.Arithmetic(operator, left, power());
    }
    return left;
  }

  private Expr power() {
    Expr left = unary(true);
    for (int chain = 1; in.skip("**"); chain++) {
      checkChain(chain);
      left = new Expr.Arithmetic("**", left, unary(true));
    }
    return left;
  }

  private Expr unary(boolean filters) {
    in.enter();
    Expr value;
    if (in.peek().is("-") || in.peek().is("+")) {
      value = new Expr.Sign(in.next().text().equals("-"), unary(false));
    } else {
      value = postfix(primary());
    }
    value = filters ? filtered(value) : value;
    in.leave();
    return value;
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
        Expr value = tuple(true, true);
        in.expect(")");
        yield value;
      }
      case "[" -> {
        List<Expr> elements = new ArrayList<>();
        while (!in.peek().is("]")) {
          elements.add(expression());
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
          keys.add(expression());
          in.expect(":");
          values.add(expression());
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

  /** One expression, or several with commas, which are a tuple. */
  Expr tuple(boolean conditions, boolean parentheses) {
    List<Expr> elements = new ArrayList<>();
    boolean isTuple = false;
    while (!endsTuple()) {
      elements.add(conditions ? expression() : or());
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
      checkChain(chain);
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
    Expr start = in.peek().is(":") ? null : expression();
    if (start != null && !in.peek().is(":")) {
      List<Expr> parts = new ArrayList<>(List.of(start));
      boolean isTuple = false;
      while (in.skip(",")) {
        isTuple = true;
        if (!in.peek().is("]")) {
          parts.add(expression());
        }
      }
      in.expect("]");
      return new Expr.Item(value, isTuple ? new Expr.Sequence(parts, true) : start);
    }
    in.expect(":");
    Expr stop = in.peek().is(":") || in.peek().is("]") ? null : expression();
    Expr step = in.skip(":") && !in.peek().is("]") ? expression() : null;
    in.expect("]");
    return new Expr.Slice(value, start, stop, step);
  }

  private Expr filtered(Expr operand) {
    Expr value = operand;
    for (int chain = 1; ; chain++) {
      checkChain(chain);
      if (in.skip("|")) {
        value = filter(value);
      } else if (in.skipName("is")) {
        value = test(value);
      } else if (in.peek().is("(")) {
        value = new Expr.Call(value, callArguments());
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
      noteUnknown("filter", name);
    }
    return new Expr.Filter(value, name, filter, in.peek().is("(") ? callArguments() : Expr.CallArguments.NONE);
  }

  /** A chain of filters without a value: what a filter block or a set block applies. */
  Expr.Filter filterChain() {
    Expr.Filter chain = filter(null);
    for (int length = 1; in.skip("|"); length++) {
      checkChain(length);
      chain = filter(chain);
    }
    return chain;
  }

  private Expr test(Expr value) {
    boolean negated = in.skipName("not");
    String name = dottedName();
    Tests.Test test = Tests.find(name);
    if (test == null) {
      noteUnknown("test", name);
    }
    Expr.CallArguments arguments = Expr.CallArguments.NONE;
    Token token = in.peek();
    if (token.is("(")) {
      arguments = callArguments();
    } else if (startsOperand(token)) {
      if (token.isName("is")) {
        throw in.error("tests cannot be chained with 'is'");
      }
      arguments = new Expr.CallArguments(List.of(postfix(primary())), List.of(), List.of(), null, null);
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
        star = expression();
      } else if (in.skip("**")) {
        if (starStar != null) {
          throw in.error("only one **argument is allowed");
        }
        starStar = expression();
      } else if (in.peek().type() == Token.Type.NAME && in.peekNext().is("=")) {
        if (starStar != null) {
          throw in.error("an argument follows **argument");
        }
        names.add(in.next().text());
        in.next();
        named.add(expression());
      } else {
        if (!names.isEmpty() || star != null || starStar != null) {
          throw in.error("a positional argument follows a keyword argument");
        }
        positional.add(expression());
      }
      if (!in.peek().is(")")) {
        in.expect(",");
      }
    }
    in.next();
    return new Expr.CallArguments(positional, names, named, star, starStar);
  }
}
