package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The parser of templates: from tokens to a tree of statements. */
final class Parser extends ExpressionParser {
  /** Number of enclosing loops in the same macro, where break and continue are allowed. */
  private int loops;
  private final Map<String, Stmt.NamedBlock> blocks = new HashMap<>();

  private Parser(TokenStream in) {
    super(in);
  }

  static Stmt.Block parse(String source, RenderBudget budget) {
    Parser parser = new Parser(new TokenStream(Lexer.tokens(source, budget), budget));
    Stmt.Block root = parser.block();
    if (parser.in.peek().type() != Token.Type.END) {
      parser.in.next();
      throw parser.in.error("unexpected '{% " + parser.in.peek().text() + " %}'");
    }
    parser.unknown.check();
    Scopes.analyze(root, budget);
    return root;
  }

  /** Statements up to the end of the template, or to a tag that begins with one of {@code ends}. */
  private Stmt.Block block(String... ends) {
    in.enter();
    List<Stmt> statements = new ArrayList<>();
    List<Integer> lines = new ArrayList<>();
    List<String> closing = List.of(ends);
    while (true) {
      Token token = in.peek();
      int before = statements.size();
      switch (token.type()) {
        case DATA -> statements.add(new Stmt.Data(in.next().text()));
        case VARIABLE_BEGIN -> {
          in.next();
          statements.add(new Stmt.Print(tuple(true)));
          in.expect(Token.Type.VARIABLE_END);
        }
        case BLOCK_BEGIN -> {
          if (in.peekNext().type() == Token.Type.NAME && isEnd(closing, in.peekNext().text())) {
            in.leave();
            return new Stmt.Block(statements, lines.stream().mapToInt(Integer::intValue).toArray());
          }
          in.next();
          statements.add(statement());
        }
        default -> {
          if (!closing.isEmpty()) {
            throw in.error("the template ends before '{% " + closing.getFirst() + " %}'");
          }
          in.leave();
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
    in.expect(Token.Type.BLOCK_BEGIN);
    if (!in.skipName(name)) {
      throw in.unexpected("'" + name + "'");
    }
    endTag();
  }

  private void endTag() {
    in.expect(Token.Type.BLOCK_END);
  }

  private Stmt statement() {
    if (in.peek().type() != Token.Type.NAME) {
      throw in.unexpected("a statement");
    }
    String keyword = in.peek().text();
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
          in.next();
          values.add(expression());
        } while (in.peek().is(","));
        endTag();
        yield new Stmt.Print(values.size() == 1 ? values.getFirst() : new Expr.Concat(values));
      }
      case "generation" -> {
        in.next();
        endTag();
        yield new Stmt.Generation(blockUntil("endgeneration"));
      }
      case "break", "continue" -> {
        if (loops == 0) {
          throw in.error("'" + keyword + "' outside of a loop");
        }
        in.next();
        endTag();
        yield new Stmt.Jump(keyword.equals("break") ? Stmt.Flow.BREAK : Stmt.Flow.CONTINUE);
      }
      case "block" -> namedBlock();
      case "autoescape" -> {
        in.next();
        Expr enabled = expression();
        endTag();
        Stmt.Block body = block("endautoescape");
        close("endautoescape");
        yield new Stmt.Autoescape(enabled, body);
      }
      case "include", "import", "from", "extends" -> throw in.error(
          "'" + keyword + "' needs other templates, which a chat template does not have");
      default -> throw in.error("unknown statement '" + keyword + "'");
    };
  }

  private Stmt forLoop() {
    in.next();
    Stmt.Target target = targets(false);
    if (!in.skipName("in")) {
      throw in.unexpected("'in'");
    }
    Expr elements = tuple(false);
    Expr condition = in.skipName("if") ? expression() : null;
    boolean recursive = in.skipName("recursive");
    endTag();
    loops++;
    Stmt.Block body = block("endfor", "else");
    loops--;
    Stmt.Block orElse = null;
    if (in.peekNext().isName("else")) {
      close("else");
      orElse = block("endfor");
    }
    close("endfor");
    return new Stmt.For(target, elements, condition, recursive, body, orElse);
  }

  private Stmt ifElse() {
    List<Expr> conditions = new ArrayList<>();
    List<Stmt.Block> bodies = new ArrayList<>();
    unknown.enterBranch();
    do {
      in.next();
      conditions.add(tuple(false));
      endTag();
      bodies.add(block("endif", "elif", "else"));
      in.expect(Token.Type.BLOCK_BEGIN);
    } while (in.peek().isName("elif"));
    if (in.skipName("else")) {
      endTag();
      bodies.add(block("endif"));
      in.expect(Token.Type.BLOCK_BEGIN);
    }
    unknown.leaveBranch();
    if (!in.skipName("endif")) {
      throw in.unexpected("'endif'");
    }
    endTag();
    return new Stmt.If(conditions, bodies);
  }

  private Stmt set() {
    in.next();
    Stmt.Target target = targets(true);
    if (in.skip("=")) {
      Expr value = tuple(true);
      endTag();
      return new Stmt.Set(target, value);
    }
    Expr.Filter filter = in.skip("|") ? filters.filterChain() : null;
    endTag();
    return new Stmt.SetBlock(target, filter, blockUntil("endset"));
  }

  private Stmt macro() {
    in.next();
    String name = in.expectName();
    Stmt.Define define = new Stmt.Define(name, definition(name, in.peek().is("("), "endmacro"));
    close("endmacro");
    return define;
  }

  private Stmt call() {
    in.next();
    boolean signature = in.peek().is("(");
    List<String> parameters = new ArrayList<>();
    List<Expr> defaults = new ArrayList<>();
    if (signature) {
      signature(parameters, defaults);
    }
    if (!(expression() instanceof Expr.Call call)) {
      throw in.error("a call block needs a call");
    }
    Macro.Definition caller = body(null, parameters, defaults, "endcall");
    close("endcall");
    return new Stmt.CallBlock(call, caller);
  }

  private Macro.Definition definition(@Nullable String name, boolean signature, String end) {
    List<String> parameters = new ArrayList<>();
    List<Expr> defaults = new ArrayList<>();
    if (!signature) {
      throw in.unexpected("'('");
    }
    signature(parameters, defaults);
    return body(name, parameters, defaults, end);
  }

  private Macro.Definition body(@Nullable String name, List<String> parameters, List<Expr> defaults, String end) {
    Set<String> outer = operands.beginSpecials();
    endTag();
    int around = loops;
    loops = 0;
    Stmt.Block body = block(end);
    loops = around;
    return new Macro.Definition(name, parameters, defaults, operands.endSpecials(outer), body);
  }

  private void signature(List<String> parameters, List<Expr> defaults) {
    in.expect("(");
    while (!in.peek().is(")")) {
      parameters.add(targetName());
      if (in.skip("=")) {
        defaults.add(expression());
      } else if (!defaults.isEmpty()) {
        throw in.error("a parameter without default follows one with a default");
      }
      if (!in.peek().is(")")) {
        in.expect(",");
      }
    }
    in.expect(")");
  }

  private Stmt namedBlock() {
    in.next();
    String name = in.expectName();
    boolean scoped = in.skipName("scoped");
    boolean required = in.skipName("required");
    endTag();
    int around = loops;
    loops = 0;
    Stmt.NamedBlock named = new Stmt.NamedBlock(name, scoped, required, block("endblock"));
    loops = around;
    if (blocks.put(name, named) != null) {
      throw in.error("block '" + name + "' is defined twice");
    }
    in.expect(Token.Type.BLOCK_BEGIN);
    in.expectName();
    in.skipName(name);
    endTag();
    return named;
  }

  private Stmt filter() {
    in.next();
    Expr.Filter filter = filters.filterChain();
    endTag();
    return new Stmt.FilterBlock(filter, blockUntil("endfilter"));
  }

  private Stmt with() {
    in.next();
    List<Stmt.Target> targets = new ArrayList<>();
    List<Expr> values = new ArrayList<>();
    while (in.peek().type() != Token.Type.BLOCK_END) {
      if (!targets.isEmpty()) {
        in.expect(",");
      }
      targets.add(new Stmt.Target.Variable(targetName()));
      in.expect("=");
      values.add(expression());
    }
    endTag();
    Stmt.Block body = block("endwith");
    close("endwith");
    return new Stmt.With(targets, values, body);
  }

  /** A body that break and continue cannot leave, and its end. */
  private Stmt.Block blockUntil(String end) {
    int around = loops;
    loops = 0;
    Stmt.Block body = block(end);
    loops = around;
    close(end);
    return body;
  }

  /** An assignment's target: a name, a namespace's attribute where allowed, or several with commas. */
  private Stmt.Target targets(boolean members) {
    List<Stmt.Target> targets = new ArrayList<>();
    boolean several = false;
    do {
      if (several && (in.peek().isName("in") || in.peek().is("=") || in.peek().type() == Token.Type.BLOCK_END)) {
        break;
      }
      targets.add(target(members));
      several |= in.peek().is(",");
    } while (in.skip(","));
    return several ? new Stmt.Target.Unpack(targets) : targets.getFirst();
  }

  private Stmt.Target target(boolean members) {
    if (in.skip("(")) {
      in.enter();
      Stmt.Target inner = targets(members);
      in.leave();
      in.expect(")");
      return inner;
    }
    String name = targetName();
    return members && in.skip(".") ? new Stmt.Target.Member(name, in.expectName()) : new Stmt.Target.Variable(name);
  }

  private String targetName() {
    String name = in.expectName();
    return switch (name) {
      case "true", "false", "none", "True", "False", "None" -> throw in.error("cannot assign to '" + name + "'");
      default -> name;
    };
  }
}
