package io.kvasir.prompt.template;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The format of message contents that a template reads: one text, or the API's list of parts.
 *
 * <p>vLLM detects it from the template ({@code --chat-template-content-format auto}): a template with a loop over the
 * content of an element of {@code messages} reads parts, any other reads text. The detection follows assignments,
 * filters, tests and slices; it ignores scopes.
 */
public enum ContentFormat {
  /** Text; the parts of a list are joined by newlines. */
  STRING,
  /** Parts: {@code [{"type": "text", "text": …}, …]}, also for a plain text. */
  OPENAI;

  static ContentFormat of(Stmt.Block root) {
    List<Stmt.Set> sets = new ArrayList<>();
    List<Stmt.For> loops = new ArrayList<>();
    collect(root, sets, loops);
    Set<String> lists = renamed("messages", sets);
    Set<String> messages = new HashSet<>();
    for (Stmt.For loop : loops) {
      if (loop.target() instanceof Stmt.Target.Variable(String name)
          && source(loop.elements()) instanceof Expr.Name list && lists.contains(list.name())) {
        messages.add(name);
      }
    }
    for (Stmt.For loop : loops) {
      if (content(source(loop.elements())) instanceof Expr.Name message && messages.contains(message.name())) {
        return OPENAI;
      }
    }
    return STRING;
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

  private static void collect(Stmt.Block block, List<Stmt.Set> sets, List<Stmt.For> loops) {
    for (Stmt stmt : block.statements()) {
      switch (stmt) {
        case Stmt.Set set -> sets.add(set);
        case Stmt.For loop -> {
          loops.add(loop);
          collect(loop.body(), sets, loops);
          if (loop.orElse() != null) {
            collect(loop.orElse(), sets, loops);
          }
        }
        case Stmt.If branches -> branches.bodies().forEach(body -> collect(body, sets, loops));
        case Stmt.SetBlock set -> collect(set.body(), sets, loops);
        case Stmt.FilterBlock filter -> collect(filter.body(), sets, loops);
        case Stmt.With with -> collect(with.body(), sets, loops);
        case Stmt.Define macro -> collect(macro.definition().body(), sets, loops);
        case Stmt.CallBlock call -> collect(call.caller().body(), sets, loops);
        case Stmt.Generation generation -> collect(generation.body(), sets, loops);
        case Stmt.Data data -> {
          // Text.
        }
        case Stmt.Print print -> {
          // No names are made here.
        }
        case Stmt.Jump jump -> {
          // Nor here.
        }
      }
    }
  }
}
