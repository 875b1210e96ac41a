package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads expressions, with Jinja2's precedence: or, and, not, comparisons, + -, ~, * / // %, **, sign, filters. */
class ExpressionParser {
  /** Nested brackets and blocks, and operators in a row: what keeps a tree walkable on an ordinary stack. */
  private static final int MAX_NESTING = 200;
  private static final int MAX_CHAIN = 500;

  private final List<Token> tokens;
  private int at;
  private int nesting;
  /** Inside a branch, where an unknown filter or test is an error only when it is reached. */
  private int branches;
  /** The first unknown filter or test outside of every branch, as far as is known. */
  private TemplateException.@Nullable Syntax unknown;
  /** {@code caller}, {@code varargs} and {@code kwargs}, where the macro being read uses them. */
  private Set<String> specials = new HashSet<>();

  ExpressionParser(List<Token> tokens) {
    this.tokens = tokens;
  }

  Token peek() {
    return tokens.get(at);
  }

  Token peekNext() {
    return tokens.get(Math.min(at + 1, tokens.size() - 1));
  }

  Token next() {
    Token token = tokens.get(at);
    if (token.type() != Token.Type.END) {
      at++;
    }
    return token;
  }

  boolean skip(String operator) {
    boolean there = peek().is(operator);
    if (there) {
      at++;
    }
    return there;
  }

  boolean skipName(String name) {
    boolean there = peek().isName(name);
    if (there) {
      at++;
    }
    return there;
  }

  void expect(String operator) {
    if (!skip(operator)) {
      throw unexpected("'" + operator + "'");
    }
  }

  String expectName() {
    if (peek().type() != Token.Type.NAME) {
      throw unexpected("a name");
    }
    return next().text();
  }

  void expect(Token.Type type) {
    if (peek().type() != type) {
      throw unexpected(new Token(type, "", 0).describe());
    }
    at++;
  }

  TemplateException.Syntax unexpected(String wanted) {
    return error("expected " + wanted + ", got " + peek().describe());
  }

  TemplateException.Syntax error(String message) {
    return new TemplateException.Syntax(message, peek().line());
  }

  void enter() {
    if (++nesting > MAX_NESTING) {
      throw error("nested more than " + MAX_NESTING + " deep");
    }
  }

  void leave() {
    nesting--;
  }

  /**
   * Whether a value is a branch of an inline if is known only after it has been read, so an unknown filter in it is
   * reported at the end of the template.
   */
  private void noteUnknown(String kind, String name) {
    if (branches == 0 && unknown == null) {
      unknown = error("there is no " + kind + " named '" + name + "'");
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
    enter();
    TemplateException.Syntax before = unknown;
    Expr value = or();
    for (int chain = 1; skipName("if"); chain++) {
      checkChain(chain);
      branches++;
      Expr condition = or();
      value = new Expr.Condition(condition, value, skipName("else") ? condition() : null);
      branches--;
      unknown = before;
    }
    leave();
    return value;
  }

  private void checkChain(int length) {
    if (length > MAX_CHAIN) {
      throw error("more than " + MAX_CHAIN + " operators in a row");
    }
  }

  Expr or() {
    Expr left = and();
    for (int chain = 1; skipName("or"); chain++) {
      checkChain(chain);
      left = new Expr.Logic(false, left, and());
    }
    return left;
  }

  private Expr and() {
    Expr left = not();
    for (int chain = 1; skipName("and"); chain++) {
      checkChain(chain);
      left = new Expr.Logic(true, left, not());
    }
    return left;
  }

  private Expr not() {
    if (!peek().isName("not")) {
      return compare();
    }
    at++;
    enter();
    Expr negated = new Expr.Not(not());
    leave();
    return negated;
  }

  private Expr compare() {
    Expr first = sum();
    List<String> operators = new ArrayList<>();
    List<Expr> rest = new ArrayList<>();
    while (true) {
      Token token = peek();
      if (token.type() == Token.Type.OPERATOR && isComparison(token.text())) {
        operators.add(next().text());
      } else if (skipName("in")) {
        operators.add("in");
      } else if (token.isName("not") && peekNext().isName("in")) {
        at += 2;
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
    for (int chain = 1; peek().is("+") || peek().is("-"); chain++) {
      checkChain(chain);
      String operator = next().text();
      left = new Expr.Arithmetic(operator, left, concat());
    }
    return left;
  }

  private Expr concat() {
    Expr first = product();
    if (!peek().is("~")) {
      return first;
    }
    List<Expr> parts = new ArrayList<>(List.of(first));
    while (skip("~")) {
      parts.add(product());
    }
    return new Expr.Concat(parts);
  }

  private Expr product() {
    Expr left = power();
    for (int chain = 1; peek().is("*") || peek().is("/") || peek().is("//") || peek().is("%"); chain++) {
      checkChain(chain);
      String operator = next().text();
      left = new Expr.Arithmetic(operator, left, power());
    }
    return left;
  }

  private Expr power() {
    Expr left = unary(true);
    for (int chain = 1; skip("**"); chain++) {
      checkChain(chain);
      left = new Expr.Arithmetic("**", left, unary(true));
    }
    return left;
  }

  private Expr unary(boolean filters) {
    enter();
    Expr value;
    if (peek().is("-") || peek().is("+")) {
      value = new Expr.Sign(next().text().equals("-"), unary(false));
    } else {
      value = postfix(primary());
    }
    value = filters ? filtered(value) : value;
    leave();
    return value;
  }

  private Expr primary() {
    Token token = next();
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
        while (peek().type() == Token.Type.STRING) {
          text.append(next().text());
        }
        yield new Expr.Const(text.toString());
      }
      case INTEGER -> new Expr.Const(Long.valueOf(token.text()));
      case FLOAT -> new Expr.Const(Double.valueOf(token.text()));
      case OPERATOR -> bracketed(token);
      default -> throw expectedExpression();
    };
  }

  private TemplateException.Syntax expectedExpression() {
    at--;
    return unexpected("an expression");
  }

  private Expr bracketed(Token open) {
    return switch (open.text()) {
      case "(" -> {
        Expr value = tuple(true, true);
        expect(")");
        yield value;
      }
      case "[" -> {
        List<Expr> elements = new ArrayList<>();
        while (!peek().is("]")) {
          elements.add(expression());
          if (!peek().is("]")) {
            expect(",");
          }
        }
        at++;
        yield new Expr.Sequence(elements, false);
      }
      case "{" -> {
        List<Expr> keys = new ArrayList<>();
        List<Expr> values = new ArrayList<>();
        while (!peek().is("}")) {
          keys.add(expression());
          expect(":");
          values.add(expression());
          if (!peek().is("}")) {
            expect(",");
          }
        }
        at++;
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
      if (!skip(",")) {
        break;
      }
      isTuple = true;
    }
    if (!isTuple && !elements.isEmpty()) {
      return elements.getFirst();
    }
    if (elements.isEmpty() && !parentheses) {
      throw unexpected("an expression");
    }
    return new Expr.Sequence(elements, true);
  }

  private boolean endsTuple() {
    Token token = peek();
    return token.type() == Token.Type.VARIABLE_END || token.type() == Token.Type.BLOCK_END || token.is(")")
        || token.isName("recursive");
  }

  private Expr postfix(Expr operand) {
    Expr value = operand;
    for (int chain = 1; ; chain++) {
      checkChain(chain);
      if (skip(".")) {
        value = member(value);
      } else if (skip("[")) {
        value = subscript(value);
      } else if (peek().is("(")) {
        value = new Expr.Call(value, callArguments());
      } else {
        return value;
      }
    }
  }

  private Expr member(Expr value) {
    Token token = next();
    return switch (token.type()) {
      case NAME -> new Expr.Attribute(value, token.text());
      case INTEGER -> new Expr.Item(value, new Expr.Const(Long.valueOf(token.text())));
      default -> {
        at--;
        throw unexpected("a name after '.'");
      }
    };
  }

  private Expr subscript(Expr value) {
    if (peek().is("]")) {
      throw unexpected("an index");
    }
    Expr start = peek().is(":") ? null : expression();
    if (start != null && !peek().is(":")) {
      List<Expr> parts = new ArrayList<>(List.of(start));
      boolean isTuple = false;
      while (skip(",")) {
        isTuple = true;
        if (!peek().is("]")) {
          parts.add(expression());
        }
      }
      expect("]");
      return new Expr.Item(value, isTuple ? new Expr.Sequence(parts, true) : start);
    }
    expect(":");
    Expr stop = peek().is(":") || peek().is("]") ? null : expression();
    Expr step = skip(":") && !peek().is("]") ? expression() : null;
    expect("]");
    return new Expr.Slice(value, start, stop, step);
  }

  private Expr filtered(Expr operand) {
    Expr value = operand;
    for (int chain = 1; ; chain++) {
      checkChain(chain);
      if (skip("|")) {
        value = filter(value);
      } else if (skipName("is")) {
        value = test(value);
      } else if (peek().is("(")) {
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
    return new Expr.Filter(value, name, filter, peek().is("(") ? callArguments() : Expr.CallArguments.NONE);
  }

  /** A chain of filters without a value: what a filter block or a set block applies. */
  Expr.Filter filterChain() {
    Expr.Filter chain = filter(null);
    while (skip("|")) {
      chain = filter(chain);
    }
    return chain;
  }

  private Expr test(Expr value) {
    boolean negated = skipName("not");
    String name = dottedName();
    Tests.Test test = Tests.find(name);
    if (test == null) {
      noteUnknown("test", name);
    }
    Expr.CallArguments arguments = Expr.CallArguments.NONE;
    Token token = peek();
    if (token.is("(")) {
      arguments = callArguments();
    } else if (startsOperand(token)) {
      if (token.isName("is")) {
        throw error("tests cannot be chained with 'is'");
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
    String name = expectName();
    while (skip(".")) {
      name = name + "." + expectName();
    }
    return name;
  }

  Expr.CallArguments callArguments() {
    expect("(");
    List<Expr> positional = new ArrayList<>();
    List<String> names = new ArrayList<>();
    List<Expr> named = new ArrayList<>();
    Expr star = null;
    Expr starStar = null;
    while (!peek().is(")")) {
      if (skip("*")) {
        if (star != null || starStar != null) {
          throw error("only one *argument, before any **argument, is allowed");
        }
        star = expression();
      } else if (skip("**")) {
        if (starStar != null) {
          throw error("only one **argument is allowed");
        }
        starStar = expression();
      } else if (peek().type() == Token.Type.NAME && peekNext().is("=")) {
        if (starStar != null) {
          throw error("an argument follows **argument");
        }
        names.add(next().text());
        at++;
        named.add(expression());
      } else {
        if (!names.isEmpty() || star != null || starStar != null) {
          throw error("a positional argument follows a keyword argument");
        }
        positional.add(expression());
      }
      if (!peek().is(")")) {
        expect(",");
      }
    }
    at++;
    return new Expr.CallArguments(positional, names, named, star, starStar);
  }
}
