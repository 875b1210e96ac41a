package io.kvasir.prompt.template;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The format of message contents that a template reads: one text, or the API's list of parts.
 *
 * <p>vLLM detects it from the template ({@code --chat-template-content-format auto}): a template with a loop over the
 * content of an element of {@code messages} reads parts, any other reads text. The detection follows assignments,
 * filters, tests and slices, and arguments of macros; it ignores scopes. Versions differ: {@link VllmRule}.
 */
public enum ContentFormat {
  /** Text; the parts of a list are joined by newlines. */
  STRING,
  /** Parts: {@code [{"type": "text", "text": …}, …]}, also for a plain text. */
  OPENAI;

  /**
   * The formats that versions of the engine detect in one template.
   *
   * @param loop a loop is over the content of a message
   * @param variable a loop is over a variable named {@code content}
   * @param macro a loop in a macro is over what is given to it of a message's content, or one outside of all macros is
   *     over such a variable
   */
  record Detected(boolean loop, boolean variable, boolean macro) {
    ContentFormat by(VllmVersion version) {
      boolean parts = loop || (VllmRule.MACRO_CONTENT.holds(version) ? macro
          : VllmRule.CONTENT_VARIABLE.holds(version) && variable);
      return parts ? OPENAI : STRING;
    }
  }

  /** What the detection looks at. */
  private static final class Found {
    private final List<Stmt.Set> sets = new ArrayList<>();
    private final List<Stmt.For> loops = new ArrayList<>();
    /** The loops that are in a macro, with the innermost one. */
    private final IdentityHashMap<Stmt.For, Stmt.Define> inMacros = new IdentityHashMap<>();
    private final List<Stmt.Define> macros = new ArrayList<>();
    private final List<Expr> expressions = new ArrayList<>();
    private Stmt.@Nullable Define macro;
  }

  static Detected of(Stmt.Block root) {
    Found found = new Found();
    collect(root, found);
    Set<String> lists = renamed("messages", found.sets);
    Set<String> messages = new HashSet<>();
    for (Stmt.For loop : found.loops) {
      if (loop.target() instanceof Stmt.Target.Variable(String name)
          && source(loop.elements()) instanceof Expr.Name list && lists.contains(list.name())) {
        messages.add(name);
      }
    }
    boolean loops = found.loops.stream().anyMatch(loop -> isContent(loop.elements(), messages));
    boolean variable = found.loops.stream().anyMatch(loop -> loop.elements() instanceof Expr.Name(String name)
        && name.equals("content"));
    return new Detected(loops, variable, ofMacros(found, messages));
  }

  private static boolean isContent(Expr expr, Set<String> messages) {
    return content(source(expr)) instanceof Expr.Name message && messages.contains(message.name());
  }

  private static boolean ofMacros(Found found, Set<String> messages) {
    Map<String, Set<String>> given = new HashMap<>();
    for (Stmt.Define macro : found.macros) {
      given.put(macro.name(), new HashSet<>());
    }
    Map<String, List<Stmt.Define>> byName = found.macros.stream().collect(Collectors.groupingBy(Stmt.Define::name));
    Deque<Expr> open = new ArrayDeque<>(found.expressions);
    while (!open.isEmpty()) {
      Expr expr = open.pop();
      if (expr instanceof Expr.Call(Expr.Name(String name), Expr.CallArguments arguments)) {
        for (Stmt.Define macro : byName.getOrDefault(name, List.of())) {
          given(macro.definition().parameters(), arguments, messages, given.getOrDefault(name, new HashSet<>()));
        }
      }
      Scopes.operands(expr, open);
    }
    return found.loops.stream().anyMatch(loop -> {
      Stmt.Define macro = found.inMacros.get(loop);
      return loop.elements() instanceof Expr.Name(String over) && (macro == null ? over.equals("content")
          : given.getOrDefault(macro.name(), Set.of()).contains(over));
    });
  }

  /** The parameters of a macro to which a call gives a message's content. */
  private static void given(List<String> parameters, Expr.CallArguments arguments, Set<String> messages,
      Set<String> to) {
    for (int i = 0; i < Math.min(parameters.size(), arguments.positional().size()); i++) {
      if (isContent(arguments.positional().get(i), messages)) {
        to.add(parameters.get(i));
      }
    }
    for (int i = 0; i < arguments.names().size(); i++) {
      if (parameters.contains(arguments.names().get(i)) && isContent(arguments.named().get(i), messages)) {
        to.add(arguments.names().get(i));
      }
    }
  }

  /** The variable and all that it, or a part of it, is assigned to. */
  private static Set<String> renamed(String variable, List<Stmt.Set> sets) {
    Map<String, List<String>> targets = new HashMap<>();
    for (Stmt.Set set : sets) {
      if (set.target() instanceof Stmt.Target.Variable(String name)
          && source(set.value()) instanceof Expr.Name from) {
        targets.computeIfAbsent(from.name(), _ -> new ArrayList<>()).add(name);
      }
    }
    Set<String> names = new HashSet<>(Set.of(variable));
    Deque<String> open = new ArrayDeque<>(names);
    while (!open.isEmpty()) {
      for (String name : targets.getOrDefault(open.pop(), List.of())) {
        if (names.add(name)) {
          open.push(name);
        }
      }
    }
    return names;
  }

  /** What is behind an expression's filters, tests and slices. */
  private static @Nullable Expr source(Expr expr) {
    Expr source = expr;
    while (true) {
      switch (source) {
        case Expr.Filter filter -> source = filter.value();
        case Expr.Test test -> source = test.value();
        case Expr.Slice slice -> source = slice.value();
        case null, default -> {
          return source;
        }
      }
    }
  }

  /** The value whose entry {@code content} an expression is. */
  private static @Nullable Expr content(@Nullable Expr expr) {
    return switch (expr) {
      case Expr.Attribute(Expr value, String name) when name.equals("content") -> value;
      case Expr.Item(Expr value, Expr.Const(Object index)) when "content".equals(index) -> value;
      case null, default -> null;
    };
  }

  private static void collect(Stmt.Block block, Found to) {
    for (Stmt stmt : block.statements()) {
      switch (stmt) {
        case Stmt.Set set -> {
          to.sets.add(set);
          to.expressions.add(set.value());
        }
        case Stmt.For loop -> loop(loop, to);
        case Stmt.If branches -> {
          to.expressions.addAll(branches.conditions());
          branches.bodies().forEach(body -> collect(body, to));
        }
        case Stmt.SetBlock set -> {
          if (set.filter() != null) {
            to.expressions.add(set.filter());
          }
          collect(set.body(), to);
        }
        case Stmt.FilterBlock filter -> {
          to.expressions.add(filter.filter());
          collect(filter.body(), to);
        }
        case Stmt.With with -> {
          to.expressions.addAll(with.values());
          collect(with.body(), to);
        }
        case Stmt.Define macro -> {
          to.macros.add(macro);
          to.expressions.addAll(macro.definition().defaults());
          Stmt.Define around = to.macro;
          to.macro = macro;
          collect(macro.definition().body(), to);
          to.macro = around;
        }
        case Stmt.CallBlock call -> {
          to.expressions.add(call.call());
          to.expressions.addAll(call.caller().defaults());
          collect(call.caller().body(), to);
        }
        case Stmt.Generation generation -> collect(generation.body(), to);
        case Stmt.NamedBlock named -> collect(named.body(), to);
        case Stmt.Autoescape escape -> {
          to.expressions.add(escape.enabled());
          collect(escape.body(), to);
        }
        case Stmt.Print print -> to.expressions.add(print.value());
        case Stmt.Data data -> {
          // Text.
        }
        case Stmt.Jump jump -> {
          // No names.
        }
      }
    }
  }

  private static void loop(Stmt.For loop, Found to) {
    to.loops.add(loop);
    if (to.macro != null) {
      to.inMacros.put(loop, to.macro);
    }
    to.expressions.add(loop.elements());
    if (loop.condition() != null) {
      to.expressions.add(loop.condition());
    }
    collect(loop.body(), to);
    if (loop.orElse() != null) {
      collect(loop.orElse(), to);
    }
  }
}
