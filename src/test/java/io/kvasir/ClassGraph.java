package io.kvasir;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The dependencies between top-level classes, by name. A nested class counts as its top-level class. What a type needs
 * of its own subtypes does not count: a sealed interface names those that it permits, and a factory makes an
 * implementation.
 */
final class ClassGraph {
  private final Map<String, Set<String>> dependencies = new TreeMap<>();

  private ClassGraph() {}

  /** A dependency of one class on another. */
  record Arrow(String from, String to) implements Comparable<Arrow> {
    @Override
    public int compareTo(Arrow other) {
      return from.equals(other.from) ? to.compareTo(other.to) : from.compareTo(other.from);
    }

    @Override
    public String toString() {
      return from + " -> " + to;
    }
  }

  static ClassGraph of(JavaClasses classes) {
    ClassGraph graph = new ClassGraph();
    for (JavaClass from : classes) {
      JavaClass outer = topLevel(from);
      graph.dependencies.computeIfAbsent(outer.getName(), name -> new TreeSet<>());
      for (Dependency dependency : from.getDirectDependenciesFromSelf()) {
        JavaClass to = topLevel(dependency.getTargetClass().getBaseComponentType());
        if (classes.contain(to.getName()) && !to.isAssignableTo(outer.getName())) {
          graph.dependencies.get(outer.getName()).add(to.getName());
        }
      }
    }
    return graph;
  }

  boolean has(Arrow arrow) {
    return dependencies.getOrDefault(arrow.from, Set.of()).contains(arrow.to);
  }

  /** The same graph without these arrows. */
  ClassGraph without(Collection<Arrow> arrows) {
    ClassGraph rest = new ClassGraph();
    dependencies.forEach((from, targets) -> rest.dependencies.put(from, new TreeSet<>(targets)));
    for (Arrow arrow : arrows) {
      rest.dependencies.getOrDefault(arrow.from, new TreeSet<>()).remove(arrow.to);
    }
    return rest;
  }

  /** The arrows that are part of a circle, each with the shortest path back. */
  Map<Arrow, List<String>> circles() {
    Map<Arrow, List<String>> circles = new TreeMap<>();
    dependencies.forEach((from, targets) -> targets.forEach(to -> {
      List<String> back = path(to, from);
      if (!back.isEmpty()) {
        circles.put(new Arrow(from, to), back);
      }
    }));
    return circles;
  }

  /** The shortest path from one class to another along the arrows, both included; empty where there is none. */
  List<String> path(String start, String end) {
    Map<String, String> cameFrom = new HashMap<>(Map.of(start, start));
    ArrayDeque<String> open = new ArrayDeque<>(List.of(start));
    while (!open.isEmpty() && !cameFrom.containsKey(end)) {
      String from = open.remove();
      for (String to : dependencies.getOrDefault(from, Set.of())) {
        if (cameFrom.putIfAbsent(to, from) == null) {
          open.add(to);
        }
      }
    }
    if (!cameFrom.containsKey(end)) {
      return List.of();
    }
    List<String> path = new ArrayList<>(List.of(end));
    while (!path.getLast().equals(start)) {
      path.add(cameFrom.get(path.getLast()));
    }
    Collections.reverse(path);
    return path;
  }

  private static JavaClass topLevel(JavaClass type) {
    JavaClass outer = type;
    while (outer.getEnclosingClass().isPresent()) {
      outer = outer.getEnclosingClass().get();
    }
    return outer;
  }
}
