package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads a template's statements into a tree. */
final class Parser extends ExpressionParser {
  /** Loops around here in the same macro: where break and continue may stand. */
  private int loops;

  private Parser(List<Token> tokens) {
    super(tokens);
  }

  static Stmt.Block parse(String source) {
    Parser parser = new Parser(Lexer.tokens(source));
    Stmt.Block root = parser.block();
    if (parser.peek().type() != Token.Type.END) {
      parser.next();
      throw parser.error("unexpected '{% " + parser.peek().text() + " %}'");
    }
    parser.checkKnown();
    return root;
  }

  /** Statements up to the end of the template, or to a tag that begins with one of {@code ends}. */
  private Stmt.Block block(String... ends) {
    enter();
    List<Stmt> statements = new ArrayList<>();
    List<Integer> lines = new ArrayList<>();
    List<String> closing = List.of(ends);
    while (true) {
      Token token = peek();
      int before = statements.size();
      switch (token.type()) {
        case DATA -> statements.add(new Stmt.Data(next().text()));
        case VARIABLE_BEGIN -> {
          next();
          statements.add(new Stmt.Print(tuple(true, false)));
          expect(Token.Type.VARIABLE_END);
        }
        case BLOCK_BEGIN -> {
          if (peekNext().type() == Token.Type.NAME && isEnd(closing, peekNext().text())) {
            leave();
            return new Stmt.Block(statements, lines.stream().mapToInt(Integer::intValue).toArray());
          }
          next();
          statements.add(statement());
        }
        default -> {
          if (!closing.isEmpty()) {
            throw error("the template ends before '{% " + closing.getFirst() + " %}'");
          }
          leave();
          return new Stmt.Block(statements, lines.stream().mapToInt(Integer::intValue).toArray());
        }
      }
      if (statements.size() > before) {
        lines.add(token.line());
      }
    }
  }

  private static boolean isEnd(List<String> closing, String name) {
    return closing.isEmpty()
        ? name.startsWith("end") || name.equals("else") || name.equals("elif")
        : closing.contains(name);
  }

  /** The tag that ends a block: {@code {% name %}}. */
  private void close(String name) {
    expect(Token.Type.BLOCK_BEGIN);
    if (!skipName(name)) {
      throw unexpected("'" + name + "'");
    }
    endTag();
  }

  private void endTag() {
    expect(Token.Type.BLOCK_END);
  }

  private Stmt statement() {
    if (peek().type() != Token.Type.NAME) {
      throw unexpected("a statement");
    }
    String keyword = peek().text();
    return switch (keyword) {
      case "for" -> forLoop();
      case "if" -> ifElse();
      case "set" -> set();
      case "macro" -> macro();
      case "call" -> call();
      case "filter" -> filter();
      case "with" -> with();
      case "print" -> {
        List<Expr> values = new ArrayList<>();
        do {
          next();
          values.add(expression());
        } while (peek().is(","));
        endTag();
        yield new Stmt.Print(values.size() == 1 ? values.getFirst() : new Expr.Concat(values));
      }
      case "generation" -> {
        next();
        endTag();
        yield new Stmt.Generation(apart("endgeneration"));
      }
      case "break", "continue" -> {
        if (loops == 0) {
          throw error("'" + keyword + "' outside of a loop");
        }
        next();
        endTag();
        yield new Stmt.Jump(keyword.equals("break") ? Stmt.Flow.BREAK : Stmt.Flow.CONTINUE);
      }
      case "include", "import", "from", "extends", "block" -> throw error(
          "'" + keyword + "' needs other templates, which a chat template does not have");
      default -> throw error("unknown statement '" + keyword + "'");
    };
  }

  private Stmt forLoop() {
    next();
    Stmt.Target target = targets(false);
    if (!skipName("in")) {
      throw unexpected("'in'");
    }
    Expr elements = tuple(false, false);
    Expr condition = skipName("if") ? expression() : null;
    boolean recursive = skipName("recursive");
    endTag();
    loops++;
    Stmt.Block body = block("endfor", "else");
    loops--;
    Stmt.Block orElse = null;
    if (peekNext().isName("else")) {
      close("else");
      orElse = block("endfor");
    }
    close("endfor");
    return new Stmt.For(target, elements, condition, recursive, body, orElse);
  }

  private Stmt ifElse() {
    List<Expr> conditions = new ArrayList<>();
    List<Stmt.Block> bodies = new ArrayList<>();
    enterBranch();
    do {
      next();
      conditions.add(tuple(false, false));
      endTag();
      bodies.add(block("endif", "elif", "else"));
      expect(Token.Type.BLOCK_BEGIN);
    } while (peek().isName("elif"));
    if (skipName("else")) {
      endTag();
      bodies.add(block("endif"));
      expect(Token.Type.BLOCK_BEGIN);
    }
    leaveBranch();
    if (!skipName("endif")) {
      throw unexpected("'endif'");
    }
    endTag();
    return new Stmt.If(conditions, bodies);
  }

  private Stmt set() {
    next();
    Stmt.Target target = targets(true);
    if (skip("=")) {
      Expr value = tuple(true, false);
      endTag();
      return new Stmt.Set(target, value);
    }
    Expr.Filter filter = skip("|") ? filterChain() : null;
    endTag();
    return new Stmt.SetBlock(target, filter, apart("endset"));
  }

  private Stmt macro() {
    next();
    String name = expectName();
    Stmt.Define define = new Stmt.Define(name, definition(name, peek().is("("), "endmacro"));
    close("endmacro");
    return define;
  }

  private Stmt call() {
    next();
    boolean signature = peek().is("(");
    List<String> parameters = new ArrayList<>();
    List<Expr> defaults = new ArrayList<>();
    if (signature) {
      signature(parameters, defaults);
    }
    if (!(expression() instanceof Expr.Call call)) {
      throw error("a call block needs a call");
    }
    Macro.Definition caller = body(null, parameters, defaults, "endcall");
    close("endcall");
    return new Stmt.CallBlock(call, caller);
  }

  private Macro.Definition definition(@Nullable String name, boolean signature, String end) {
    List<String> parameters = new ArrayList<>();
    List<Expr> defaults = new ArrayList<>();
    if (!signature) {
      throw unexpected("'('");
    }
    signature(parameters, defaults);
    return body(name, parameters, defaults, end);
  }

  private Macro.Definition body(@Nullable String name, List<String> parameters, List<Expr> defaults, String end) {
    Set<String> outer = beginSpecials();
    endTag();
    int around = loops;
    loops = 0;
    Stmt.Block body = block(end);
    loops = around;
    return new Macro.Definition(name, parameters, defaults, endSpecials(outer), body);
  }

  private void signature(List<String> parameters, List<Expr> defaults) {
    expect("(");
    while (!peek().is(")")) {
      parameters.add(targetName());
      if (skip("=")) {
        defaults.add(expression());
      } else if (!defaults.isEmpty()) {
        throw error("a parameter without default follows one with a default");
      }
      if (!peek().is(")")) {
        expect(",");
      }
    }
    expect(")");
  }

  private Stmt filter() {
    next();
    Expr.Filter filter = filterChain();
    endTag();
    return new Stmt.FilterBlock(filter, apart("endfilter"));
  }

  private Stmt with() {
    next();
    List<Stmt.Target> targets = new ArrayList<>();
    List<Expr> values = new ArrayList<>();
    while (peek().type() != Token.Type.BLOCK_END) {
      if (!targets.isEmpty()) {
        expect(",");
      }
      targets.add(new Stmt.Target.Variable(targetName()));
      expect("=");
      values.add(expression());
    }
    endTag();
    Stmt.Block body = block("endwith");
    close("endwith");
    return new Stmt.With(targets, values, body);
  }

  /** A body that break and continue cannot leave, and its end. */
  private Stmt.Block apart(String end) {
    int around = loops;
    loops = 0;
    Stmt.Block body = block(end);
    loops = around;
    close(end);
    return body;
  }

  /** What is assigned to: a name, a namespace's attribute where allowed, or several with commas. */
  private Stmt.Target targets(boolean members) {
    List<Stmt.Target> targets = new ArrayList<>();
    boolean several = false;
    do {
      if (several && (peek().isName("in") || peek().is("=") || peek().type() == Token.Type.BLOCK_END)) {
        break;
      }
      targets.add(target(members));
      several |= peek().is(",");
    } while (skip(","));
    return several ? new Stmt.Target.Unpack(targets) : targets.getFirst();
  }

  private Stmt.Target target(boolean members) {
    if (skip("(")) {
      enter();
      Stmt.Target inner = targets(members);
      leave();
      expect(")");
      return inner;
    }
    String name = targetName();
    return members && skip(".") ? new Stmt.Target.Member(name, expectName()) : new Stmt.Target.Variable(name);
  }

  private String targetName() {
    String name = expectName();
    return switch (name) {
      case "true", "false", "none", "True", "False", "None" -> throw error("cannot assign to '" + name + "'");
      default -> name;
    };
  }
}
