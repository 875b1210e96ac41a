package io.kvasir.routing.cost;

/**
 * One engine of a deployment. Engines of one name may differ: another clock limit, a neighbour on the machine, a wrong
 * name.
 *
 * @param deployment what its name says it is
 * @param worker the worker's id
 */
public record EngineInstance(Deployment deployment, String worker) {}
