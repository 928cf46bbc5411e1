CREATE INDEX activation_by_claim ON public.activation USING btree (claimed_by) WHERE (claimed_by IS NOT NULL)
CREATE INDEX activation_by_vin ON public.activation USING btree (vin)
CREATE INDEX activation_due_by_company ON public.activation USING btree (company, due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX activation_of_sandbox ON public.activation USING btree (company, vin) WHERE (provider = 'sandbox'::text)
CREATE INDEX activation_waiting ON public.activation USING btree (changed_at) WHERE ((state = ANY (ARRAY['PENDING'::text, 'ENDING'::text])) OR (NOT wanted))
CREATE INDEX contract_by_activation ON public.contract USING btree (company, activation, id)
CREATE INDEX contract_by_end ON public.contract USING btree (company, ends_at, id)
CREATE INDEX contract_by_fleet ON public.contract USING btree (company, fleet_id, id)
CREATE INDEX contract_by_hash ON public.contract USING hash (id)
CREATE INDEX contract_by_name ON public.contract USING btree (company, folded_name, id)
CREATE INDEX contract_by_start ON public.contract USING btree (company, starts_at, id)
CREATE INDEX contract_by_vehicle ON public.contract USING btree (company, vehicle_id, id)
CREATE INDEX contract_due_by_company ON public.contract USING btree (company, due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX contract_no_overlap ON public.contract USING gist (vehicle_id, pack, tstzrange(starts_at, ends_at)) -- constraint
CREATE INDEX contract_of_fleet_by_end ON public.contract USING btree (company, fleet_id, ends_at, id)
CREATE INDEX contract_of_fleet_by_start ON public.contract USING btree (company, fleet_id, starts_at, id)
CREATE INDEX deleted_contract_by_vin ON public.deleted_contract USING btree (company, vin)
CREATE INDEX delivery_asked_by_webhook ON public.delivery USING btree (company, webhook_id, due_at) WHERE (asked AND (due_at IS NOT NULL))
CREATE INDEX delivery_by_webhook ON public.delivery USING btree (company, webhook_id, id)
CREATE INDEX delivery_due_by_webhook ON public.delivery USING btree (company, webhook_id, due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX event_by_contract ON public.event USING btree (company, contract_id, "position") WHERE (("position" IS NOT NULL) AND (contract_id IS NOT NULL))
CREATE INDEX event_by_fleet ON public.event USING btree (company, fleet_id, "position") WHERE (("position" IS NOT NULL) AND (fleet_id IS NOT NULL))
CREATE INDEX event_by_history ON public.event USING btree (company, history_id, "position") WHERE (("position" IS NOT NULL) AND (history_id IS NOT NULL))
CREATE INDEX event_to_publish ON public.event USING btree (company, seq) WHERE ("position" IS NULL)
CREATE INDEX event_type ON public.event USING btree (company, type, "position") WHERE ("position" IS NOT NULL)
CREATE INDEX event_vehicle ON public.event USING gin (vehicle_ids) WHERE ("position" IS NOT NULL)
CREATE INDEX event_vin ON public.event USING gin (vins) WHERE ("position" IS NOT NULL)
CREATE INDEX fleet_being_deleted ON public.fleet USING btree (company, id) WHERE (deletion IS NOT NULL)
CREATE INDEX fleet_by_attention_count ON public.fleet USING btree (company, attention_count, id)
CREATE INDEX fleet_by_hash ON public.fleet USING hash (id)
CREATE INDEX fleet_by_name ON public.fleet USING btree (company, name COLLATE "C", id)
CREATE INDEX fleet_by_vehicle_count ON public.fleet USING btree (company, vehicle_count, id)
CREATE INDEX history_by_fleet ON public.history USING btree (company, fleet_id, "position")
CREATE INDEX idempotency_key_age ON public.idempotency_key USING btree (created_at)
CREATE INDEX idempotency_key_large ON public.idempotency_key USING btree (company, created_at) WHERE (octet_length(body) > 4096)
CREATE INDEX import_by_fleet ON public.import USING btree (company, fleet_id, id)
CREATE INDEX import_due ON public.import USING btree (due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX import_finished ON public.import USING btree (finished_at) WHERE (finished_at IS NOT NULL)
CREATE INDEX placement_changed ON public.placement USING btree (changed_at)
CREATE INDEX schedule_by_time ON public.schedule USING btree (kind, due_at, company)
CREATE INDEX vehicle_by_claim ON public.vehicle USING btree (claimed_by) WHERE (claimed_by IS NOT NULL)
CREATE INDEX vehicle_by_fleet ON public.vehicle USING btree (company, fleet_id, id)
CREATE INDEX vehicle_by_reason ON public.vehicle USING btree (company, ((reason ->> 'actor'::text)), ((reason ->> 'code'::text)), fleet_id) WHERE (reason IS NOT NULL)
CREATE INDEX vehicle_by_status ON public.vehicle USING btree (company, status, fleet_id, manufacturer)
CREATE INDEX vehicle_by_verified ON public.vehicle USING btree (company, COALESCE(verified_at, 'infinity'::timestamp with time zone), id)
CREATE INDEX vehicle_by_vin ON public.vehicle USING btree (company, fleet_id, vin)
CREATE INDEX vehicle_by_vin_end ON public.vehicle USING btree (company, reverse(vin))
CREATE INDEX vehicle_by_vin_hash ON public.vehicle USING hash (vin)
CREATE INDEX vehicle_due_by_company ON public.vehicle USING btree (company, due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX vehicle_of_fleet_by_verified ON public.vehicle USING btree (company, fleet_id, COALESCE(verified_at, 'infinity'::timestamp with time zone), id)
CREATE INDEX vehicle_of_sandbox ON public.vehicle USING btree (company, id) WHERE (provider = 'sandbox'::text)
CREATE INDEX vehicle_tally_by_fleet ON public.vehicle_tally USING btree (company, fleet_id, status) INCLUDE (delta)
CREATE INDEX vehicle_tally_uncounted ON public.vehicle_tally USING btree (company, fleet_id) WHERE (NOT counted)
CREATE INDEX webhook_due ON public.webhook USING btree (due_at) WHERE (due_at IS NOT NULL)
CREATE UNIQUE INDEX activation_pkey ON public.activation USING btree (company, id) -- constraint
CREATE UNIQUE INDEX activation_program ON public.activation USING btree (company, vin, provider, program) -- constraint
CREATE UNIQUE INDEX activity_pkey ON public.activity USING btree (company, hour, fleet_id, type) -- constraint
CREATE UNIQUE INDEX company_pkey ON public.company USING btree (company) -- constraint
CREATE UNIQUE INDEX contract_pkey ON public.contract USING btree (company, id) -- constraint
CREATE UNIQUE INDEX deleted_contract_pkey ON public.deleted_contract USING btree (company, id) -- constraint
CREATE UNIQUE INDEX delivery_by_id ON public.delivery USING btree (id)
CREATE UNIQUE INDEX delivery_event ON public.delivery USING btree (company, event_id, webhook_id) -- constraint
CREATE UNIQUE INDEX delivery_pkey ON public.delivery USING btree (company, id) -- constraint
CREATE UNIQUE INDEX event_by_id ON public.event USING btree (id)
CREATE UNIQUE INDEX event_company_position_key ON public.event USING btree (company, "position") WHERE ("position" IS NOT NULL)
CREATE UNIQUE INDEX event_pkey ON public.event USING btree (company, id) -- constraint
CREATE UNIQUE INDEX fleet_pkey ON public.fleet USING btree (company, id) -- constraint
CREATE UNIQUE INDEX history_key ON public.history USING btree (company, key) -- constraint
CREATE UNIQUE INDEX history_pkey ON public.history USING btree (company, id) -- constraint
CREATE UNIQUE INDEX history_position ON public.history USING btree (company, "position") -- constraint
CREATE UNIQUE INDEX idempotency_key_pkey ON public.idempotency_key USING btree (company, key) -- constraint
CREATE UNIQUE INDEX import_batch_pkey ON public.import_batch USING btree (company, import_id, first_row) -- constraint
CREATE UNIQUE INDEX import_idempotency_key ON public.import USING btree (company, idempotency_key) -- constraint
CREATE UNIQUE INDEX import_pkey ON public.import USING btree (company, id) -- constraint
CREATE UNIQUE INDEX import_rejection_pkey ON public.import_rejection USING btree (company, import_id, "row") -- constraint
CREATE UNIQUE INDEX placement_pkey ON public.placement USING btree (company) -- constraint
CREATE UNIQUE INDEX process_pkey ON public.process USING btree (id) -- constraint
CREATE UNIQUE INDEX rate_use_pkey ON public.rate_use USING btree (minute, who) -- constraint
CREATE UNIQUE INDEX schedule_pkey ON public.schedule USING btree (company, kind, id) -- constraint
CREATE UNIQUE INDEX vehicle_pkey ON public.vehicle USING btree (company, id) -- constraint
CREATE UNIQUE INDEX vehicle_tally_pkey ON public.vehicle_tally USING btree (company, id) -- constraint
CREATE UNIQUE INDEX vehicle_vin ON public.vehicle USING btree (company, vin) -- constraint
CREATE UNIQUE INDEX webhook_pkey ON public.webhook USING btree (company, id) -- constraint
CREATE UNIQUE INDEX worker_pkey ON public.worker USING btree (id) -- constraint

table import_batch unlogged
table rate_use unlogged {fillfactor=50}

column import_batch.manufacturers storage e
column import_batch.rows storage e
column import_batch.supported storage e
column import_batch.vins storage e
column import_batch.warnings storage e

CREATE OR REPLACE FUNCTION public.folded(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ select regexp_replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(lower(regexp_replace(normalize(name, nfkd), '[\u0300-\u036f]', '', 'g') collate "und-x-icu"), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ł', 'l'), 'ø', 'o'), 'ı', 'i'), 'đ', 'd'), 'ð', 'd'), 'ħ', 'h'), 'ŧ', 't'), '[ \t\n\r\f\v]+', ' ', 'g') $function$
CREATE OR REPLACE FUNCTION public.new_uuid()
 RETURNS uuid
 LANGUAGE sql
AS $function$
    select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
      || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
  $function$

sequence event_seq_seq as bigint start 1 increment 1 from 1 to 9223372036854775807 cache 1
sequence schedule_id_seq as bigint start 1 increment 1 from 1 to 9223372036854775807 cache 1
sequence vehicle_tally_id_seq as bigint start 1 increment 1 from 1 to 9223372036854775807 cache 1

extension btree_gist
