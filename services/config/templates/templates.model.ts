import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** A template's head: who owns it, which version is current, and what the scheduler and a push must know without reading the whole. */
export interface TemplateDoc {
  _id: string;
  reseller_id: string;
  /** null: a template of the reseller, for all its merchants. */
  merchant_id: string | null;
  name: string;
  is_active: boolean;
  version: number;
  /** Seconds. */
  max_age_seconds: number;
  /** Null, and absent in older documents: max_age_seconds. */
  rtc_join_timeout_seconds?: number | null;
  max_call_seconds: number;
  retry_on: string[] | null;
  created_at: Date;
  updated_at: Date;
}

/**
 * One version of a template, never changed. `record` is the TemplateRecord as JSON text: it contains clients' JSON Schemas,
 * whose keywords (`$ref`, `$id`, names with dots) mean something else to the database and its driver.
 */
export interface VersionDoc {
  _id: string;
  template_id: string;
  version: number;
  record: string;
  created_at: Date;
}

/** Collection `templates`; owner: the config service. */
export const templateSchema = new Schema<TemplateDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    name: { type: String, required: true },
    is_active: { type: Boolean, required: true },
    version: { type: Number, required: true },
    max_age_seconds: { type: Number, required: true },
    rtc_join_timeout_seconds: Number,
    max_call_seconds: { type: Number, required: true },
    retry_on: { type: [String], default: null },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

/** Lists: one index for every scope and every filter. */
templateSchema.index({ created_at: -1, _id: -1 });
templateSchema.index({ reseller_id: 1, created_at: -1, _id: -1 });
templateSchema.index({ merchant_id: 1, created_at: -1, _id: -1 });
templateSchema.index({ is_active: 1, created_at: -1, _id: -1 });
templateSchema.index({ name: 1 });
templateSchema.index({ reseller_id: 1, name: 1 });
templateSchema.index({ reseller_id: 1, merchant_id: 1, created_at: -1, _id: -1 });

/** Collection `template_versions`; owner: the config service. Its ids are `<template id>:<version>`. */
export const versionSchema = new Schema<VersionDoc>(
  {
    _id: { type: String, required: true },
    template_id: { type: String, required: true },
    version: { type: Number, required: true },
    record: { type: String, required: true },
    created_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

versionSchema.index({ template_id: 1, created_at: -1, _id: -1 });
