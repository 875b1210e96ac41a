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
 * The names under which a template has the list {@code messages} or a part of it, as vLLM finds them to detect a
 * {@link ContentUse}: what it, or anything of such a name, is assigned to.
 */
final class MessageLists {
  private static final String MESSAGES = "messages";

  private final boolean members;
  /** What each name is assigned to. */
  private final Map<String, List<String>> assigned = new HashMap<>();
  /** Names that are assigned to something else than a variable. */
  private final Set<String> lost = new HashSet<>();

  private MessageLists(boolean members) {
    this.members = members;
  }

  /** The variables; null if messages are assigned to anything else, on which engines that know variables only stop. */
  static @Nullable Set<String> inVariables(List<Stmt.Set> sets) {
    return new MessageLists(false).names(sets);
  }

  /** The variables and, with a dot between, the members of namespaces: {@code ns.rest}. */
  static Set<String> inMembers(List<Stmt.Set> sets) {
    Set<String> names = new MessageLists(true).names(sets);
    return names == null ? Set.of() : names;
  }

  /** The name of a variable, or of a member of a variable; null for anything else. */
  static @Nullable String name(@Nullable Expr expr) {
    return switch (expr) {
      case Expr.Name(String name) -> name;
      case Expr.Attribute(Expr.Name(String namespace), String member) -> member(namespace, member);
      case null, default -> null;
    };
  }

  /** What is behind an expression's filters, tests and slices. */
  static @Nullable Expr source(Expr expr) {
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

  private static String member(String namespace, String member) {
    return namespace + "." + member;
  }

  private @Nullable Set<String> names(List<Stmt.Set> sets) {
    sets.forEach(this::read);
    Set<String> names = new HashSet<>(Set.of(MESSAGES));
    Deque<String> open = new ArrayDeque<>(names);
    while (!open.isEmpty()) {
      String from = open.pop();
      if (lost.contains(from)) {
        return null;
      }
      for (String name : assigned.getOrDefault(from, List.of())) {
        if (names.add(name)) {
          open.push(name);
        }
      }
    }
    return names;
  }

  private void read(Stmt.Set set) {
    switch (set.target()) {
      case Stmt.Target.Variable(String name) -> {
        assign(set.value(), name);
        if (members && set.value() instanceof Expr.Call(Expr.Name(String called), Expr.CallArguments arguments)
            && called.equals("namespace")) {
          for (int i = 0; i < arguments.names().size(); i++) {
            assign(arguments.named().get(i), member(name, arguments.names().get(i)));
          }
        }
      }
      case Stmt.Target.Member(String namespace, String name) -> {
        if (members) {
          assign(set.value(), member(namespace, name));
        } else {
          lose(set.value());
        }
      }
      case Stmt.Target.Unpack unpack -> {
        if (!members) {
          lose(set.value());
        }
      }
    }
  }

  private void assign(Expr value, String to) {
    String from = name(source(value));
    if (from != null) {
      assigned.computeIfAbsent(from, _ -> new ArrayList<>()).add(to);
    }
  }

  private void lose(Expr value) {
    String from = name(source(value));
    if (from != null) {
      lost.add(from);
    }
  }
}
